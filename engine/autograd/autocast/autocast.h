#pragma once

#include <array>

#include "engine/core/device.h"
#include "engine/core/dtype.h"
#include "engine/core/modes.h"
#include "engine/core/tensor.h"

// Note [Autocast]
// In an AutocastScope operators cast their inputs by the policy in their description: products of matrices compute in
// bfloat16 or float16, operators that these would make inexact in float32. The casts are recorded, so a gradient comes
// back in the dtype that its tensor has. A bit among the interceptors says that there is such a scope; without it no
// call asks for more. An operator that has cast its inputs runs with the bit off, as the operators that it is composed
// of must not cast again. Backward passes run with it off as well, since saved tensors and gradients have the dtypes
// that forward chose.
//
// float64 and complex tensors are never cast. A parameter (a leaf that wants a gradient) in float32 is cast once in the
// outermost scope, and the copy used again until the parameter changes.

namespace lamella::autograd {

/// State of autocast on a thread.
struct AutocastState {
  struct OnDevice {
    bool enabled = false;
    DType dtype = DType::BFloat16;

    friend bool operator==(const OnDevice&, const OnDevice&) = default;
  };
  std::array<OnDevice, kDeviceTypeCount> devices{};
  bool cache_enabled = true;

  OnDevice& on(DeviceType type) { return devices[static_cast<std::size_t>(type)]; }
  const OnDevice& on(DeviceType type) const { return devices[static_cast<std::size_t>(type)]; }
  bool any_enabled() const noexcept;

  /// Returns this thread's state; nothing is enabled in it where AutocastOff is in force.
  static AutocastState now();

  friend bool operator==(const AutocastState&, const AutocastState&) = default;
};

/// True if operators on this thread are to ask for their policies.
inline bool autocast_active() noexcept { return (modes().interceptors & Modes::kAutocast) != 0; }
/// True if autocast is on for tensors of this kind of device. Tensors on meta go with those on the CPU.
bool is_autocast_enabled(DeviceType type) noexcept;
/// Returns the dtype of autocast on this kind of device: that of the scope, or the process's default, which is
/// bfloat16, and float16 on CUDA, until set_autocast_dtype changes it.
DType autocast_dtype(DeviceType type) noexcept;
/// Sets the process's default dtype; TypeError for another dtype than bfloat16 and float16.
void set_autocast_dtype(DeviceType type, DType dtype);

/// State before enter_autocast(), which leave_autocast() restores.
struct AutocastBefore {
  AutocastState state;
  bool active;
};
/// Puts a state in force and returns the one before. Scopes may be left in any order; copies of parameters live until
/// the last one is left. TypeError where an enabled device's dtype is not bfloat16 or float16.
AutocastBefore enter_autocast(const AutocastState& state);
void leave_autocast(const AutocastBefore& before) noexcept;

/// Puts a state of autocast in force for a scope: `AutocastScope scope(DeviceType::CPU);`
class AutocastScope {
 public:
  explicit AutocastScope(const AutocastState& state) : before_(enter_autocast(state)) {}
  /// Changes the state in force for one kind of device.
  explicit AutocastScope(DeviceType type, bool enabled = true) : AutocastScope(type, autocast_dtype(type), enabled) {}
  AutocastScope(DeviceType type, DType dtype, bool enabled = true)
      : AutocastScope([&] {
          AutocastState state = AutocastState::now();
          state.on(type) = {enabled, dtype};
          return state;
        }()) {}
  ~AutocastScope() { leave_autocast(before_); }
  AutocastScope(const AutocastScope&) = delete;
  AutocastScope& operator=(const AutocastScope&) = delete;

 private:
  AutocastBefore before_;
};

/// Switches autocast off for a scope.
class AutocastOff {
 public:
  AutocastOff() noexcept : bit_(static_cast<std::uint8_t>(modes().interceptors & Modes::kAutocast)) {
    modes().interceptors = static_cast<std::uint8_t>(modes().interceptors & ~Modes::kAutocast);
  }
  ~AutocastOff() { modes().interceptors = static_cast<std::uint8_t>(modes().interceptors | bit_); }
  AutocastOff(const AutocastOff&) = delete;
  AutocastOff& operator=(const AutocastOff&) = delete;

 private:
  std::uint8_t bit_;
};

/// Returns x in the dtype of its device's scope where it is floating and not float64; x itself otherwise, and where
/// autocast is off for its device. May be undefined.
Tensor lower_input(const Tensor& x);
/// Returns x in float32 where it is float16 or bfloat16 and autocast is on for its device; x itself otherwise.
Tensor raise_input(const Tensor& x);
/// Returns x in `dtype` where it is floating and not float64, and autocast is on for its device; x itself otherwise.
Tensor cast_input(const Tensor& x, DType dtype);

}  // namespace lamella::autograd
