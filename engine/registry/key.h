#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "engine/core/device.h"
#include "engine/core/modes.h"

namespace lamella {

/// What a kernel of a registered operator is for.
///
/// A call looks at the device of its tensors. The kernel for Autograd on that device runs first, if there is one, and
/// calls the operator again below autograd (AutoDispatchBelowAutograd); otherwise the kernel of the device itself runs.
enum class DispatchKey : std::uint8_t {
  // Devices, in the order of DeviceType.
  CPU,
  CUDA,
  Meta,
  PrivateUse1,
  // Above them, in the same order.
  AutogradCPU,
  AutogradCUDA,
  AutogradMeta,
  AutogradPrivateUse1,
  // For several of the above.
  /// AutogradCPU to AutogradPrivateUse1, where these have none of their own.
  Autograd,
  /// All devices that have no kernel of their own; its gradient is that of the operators it is made of.
  CompositeImplicitAutograd,
  /// All devices that have no kernel of their own; the operator's gradient is registered, as for a device's kernel.
  CompositeExplicitAutograd,
  /// None given.
  Undefined,
};

inline constexpr std::size_t kDispatchSlots = 8;      ///< the keys that a call can be for
inline constexpr std::size_t kDispatchKeyCount = 11;  ///< those that kernels can be registered for

/// "AutogradCPU".
std::string_view name(DispatchKey key);
/// The key of that name; ValueError listing the keys for another.
DispatchKey parse_dispatch_key(std::string_view name);

constexpr DispatchKey backend_key(DeviceType type) { return static_cast<DispatchKey>(type); }
constexpr DispatchKey autograd_key(DeviceType type) {
  return static_cast<DispatchKey>(static_cast<std::size_t>(type) + kDeviceTypeCount);
}

/// A set of keys that calls can be for. Autograd stands for the four of that name.
class DispatchKeySet {
 public:
  constexpr DispatchKeySet() = default;
  constexpr DispatchKeySet(DispatchKey key) : bits_(bits_of(key)) {}
  constexpr DispatchKeySet(std::initializer_list<DispatchKey> keys) {
    for (const DispatchKey key : keys) bits_ |= bits_of(key);
  }

  constexpr bool has(DispatchKey key) const { return (bits_ & bits_of(key)) != 0; }
  constexpr bool empty() const { return bits_ == 0; }
  friend constexpr DispatchKeySet operator|(DispatchKeySet a, DispatchKeySet b) { return from(a.bits_ | b.bits_); }
  friend constexpr DispatchKeySet operator&(DispatchKeySet a, DispatchKeySet b) { return from(a.bits_ & b.bits_); }
  friend constexpr DispatchKeySet operator-(DispatchKeySet a, DispatchKeySet b) { return from(a.bits_ & ~b.bits_); }
  friend constexpr bool operator==(DispatchKeySet a, DispatchKeySet b) = default;

 private:
  static constexpr DispatchKeySet from(unsigned bits) {
    DispatchKeySet set;
    set.bits_ = static_cast<std::uint8_t>(bits);
    return set;
  }
  static constexpr std::uint8_t bits_of(DispatchKey key) {
    if (key == DispatchKey::Autograd) return 0xF0;
    return static_cast<std::size_t>(key) < kDispatchSlots ? static_cast<std::uint8_t>(1u << static_cast<unsigned>(key))
                                                          : std::uint8_t{0};
  }

  std::uint8_t bits_ = 0;
};

inline constexpr DispatchKeySet kAutogradKeys = DispatchKey::Autograd;
/// What is left for a kernel for Autograd to redispatch to.
inline constexpr DispatchKeySet kAfterAutogradKeys{DispatchKey::CPU, DispatchKey::CUDA, DispatchKey::Meta,
                                                   DispatchKey::PrivateUse1};

namespace registry::detail {

/// What dispatch keeps per thread.
struct ThreadDispatch {
  /// Calls do not look at kernels for these.
  DispatchKeySet excluded;
  /// Calls of operators that are under way, one within the other.
  std::uint32_t depth = 0;
};
[[gnu::tls_model("initial-exec")]] extern thread_local constinit ThreadDispatch thread_dispatch;

}  // namespace registry::detail

/// Calls in this scope, on this thread, pass over kernels for these keys.
class ExcludeDispatchKeys {
 public:
  explicit ExcludeDispatchKeys(DispatchKeySet keys) noexcept : before_(registry::detail::thread_dispatch.excluded) {
    registry::detail::thread_dispatch.excluded = before_ | keys;
  }
  ~ExcludeDispatchKeys() { registry::detail::thread_dispatch.excluded = before_; }
  ExcludeDispatchKeys(const ExcludeDispatchKeys&) = delete;
  ExcludeDispatchKeys& operator=(const ExcludeDispatchKeys&) = delete;

 private:
  DispatchKeySet before_;
};

/// Calls in this scope run below autograd: no kernel for Autograd runs, and nothing is recorded. What a kernel for
/// Autograd opens before it calls its operator again.
class AutoDispatchBelowAutograd {
 public:
  AutoDispatchBelowAutograd() noexcept : keys_(kAutogradKeys) {}

 private:
  ExcludeDispatchKeys keys_;
  autograd::NoGrad no_grad_;
};

}  // namespace lamella
