#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "engine/core/device.h"
#include "engine/core/modes.h"

namespace lamella {

/// The key for which a kernel of a registered operator is called.
///
/// A call is dispatched by the device of its tensors. The kernel for Autograd on that device, if there is one, runs
/// first and calls the operator again below autograd (AutoDispatchBelowAutograd); otherwise the device's own kernel
/// runs.
enum class DispatchKey : std::uint8_t {
  // Devices, in the order of DeviceType.
  CPU,
  CUDA,
  Meta,
  PrivateUse1,
  // Autograd on each device, in the same order.
  AutogradCPU,
  AutogradCUDA,
  AutogradMeta,
  AutogradPrivateUse1,
  // Keys for several of the keys above.
  /// Stands for those of AutogradCPU to AutogradPrivateUse1 that have no kernel of their own.
  Autograd,
  /// All devices without a kernel of their own; the gradient is that of the operators that the kernel calls.
  CompositeImplicitAutograd,
  /// All devices without a kernel of their own; the operator's gradient is registered, as for a device's kernel.
  CompositeExplicitAutograd,
  /// No key.
  Undefined,
};

inline constexpr std::size_t kDispatchSlots = 8;      ///< number of keys that a call can have
inline constexpr std::size_t kDispatchKeyCount = 11;  ///< number of keys that kernels can be registered for

/// Returns a name such as "AutogradCPU".
std::string_view name(DispatchKey key);
/// Returns the key of that name; throws ValueError that lists the keys for any other name.
DispatchKey parse_dispatch_key(std::string_view name);

constexpr DispatchKey backend_key(DeviceType type) { return static_cast<DispatchKey>(type); }
constexpr DispatchKey autograd_key(DeviceType type) {
  return static_cast<DispatchKey>(static_cast<std::size_t>(type) + kDeviceTypeCount);
}

/// A set of keys that calls can have. Autograd stands for the four keys of that name.
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
/// The keys that a kernel for Autograd can redispatch to.
inline constexpr DispatchKeySet kAfterAutogradKeys{DispatchKey::CPU, DispatchKey::CUDA, DispatchKey::Meta,
                                                   DispatchKey::PrivateUse1};

namespace registry::detail {

/// The dispatcher's state per thread.
struct ThreadDispatch {
  /// Keys whose kernels are skipped.
  DispatchKeySet excluded;
  /// Depth of nested calls of operators.
  std::uint32_t depth = 0;
};
[[gnu::tls_model("initial-exec")]] extern thread_local constinit ThreadDispatch thread_dispatch;

}  // namespace registry::detail

/// A scope in which calls on this thread skip kernels for these keys.
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

/// A scope in which calls run below autograd: no kernel for Autograd runs, and nothing is recorded. A kernel for
/// Autograd opens it before it calls its operator again.
class AutoDispatchBelowAutograd {
 public:
  AutoDispatchBelowAutograd() noexcept : keys_(kAutogradKeys) {}

 private:
  ExcludeDispatchKeys keys_;
  autograd::NoGrad no_grad_;
};

}  // namespace lamella
