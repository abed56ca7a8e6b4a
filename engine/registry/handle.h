#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "engine/registry/convert.h"
#include "engine/registry/kernel.h"
#include "engine/registry/key.h"
#include "engine/registry/place.h"
#include "engine/registry/schema.h"

namespace lamella {

template <class Signature>
class TypedOperatorHandle;

namespace registry {
class OperatorEntry;

/// Description of one kernel of an operator.
struct KernelInfo {
  DispatchKey key;
  Place place;
  bool fallthrough = false;
};

namespace detail {
void check_signature(const Schema& schema, const SignatureView& signature, std::string_view who);
}  // namespace detail
}  // namespace registry

/// A registered operator (call(), redispatch() and run_device_kernel() are in call.cc). Copied freely, and valid for as
/// long as the process lives: a call of one whose library has been unloaded is a RuntimeError.
class OperatorHandle {
 public:
  explicit OperatorHandle(registry::OperatorEntry* entry) noexcept : entry_(entry) {}

  /// Returns the operator's arguments and results. Throws RuntimeError where the operator was removed. The reference
  /// stays valid.
  const Schema& schema() const;
  /// Returns "ns::name", which is never freed.
  const std::string& name() const noexcept;
  const std::string& overload() const noexcept;
  /// Returns "ns::name.overload".
  const std::string& full_name() const noexcept;
  /// True if the operator is still registered.
  bool is_defined() const noexcept;
  /// Returns the text that the author wrote about the operator.
  std::string doc() const;
  /// Returns the place of the operator's definition.
  registry::Place place() const;
  /// Returns the operator's kernels, in the order of their keys.
  std::vector<registry::KernelInfo> kernels() const;
  bool has_kernel(DispatchKey key) const;

  /// Returns a handle for calls with C++ arguments: `op.typed<Tensor(const Tensor&, int64_t)>().call(x, 2)`. Throws
  /// TypeError, naming argument and both types, where the signature does not fit the schema.
  template <class Signature>
  TypedOperatorHandle<Signature> typed() const;

  /// Calls the operator: one argument for each of the schema's, one result for each of the schema's.
  ///
  /// NotImplementedError where there is no kernel for the tensors' device, RuntimeError where they are on several
  /// devices, and whatever the kernel throws.
  void call(const registry::Arg* args, registry::Value* results) const;
  /// Calls the operator with the highest of `keys` that has a kernel: so a kernel goes on below itself.
  void redispatch(DispatchKeySet keys, const registry::Arg* args, registry::Value* results) const;
  /// Calls the operator with values. Missing arguments at the end get their defaults. Throws TypeError, naming the
  /// argument, where one has another type than the schema says.
  std::vector<registry::Value> call_boxed(std::span<const registry::Value> args) const;

  /// Runs the kernel for tensors on devices of this kind, below autograd and without a look at the arguments, for an
  /// operator for all devices that works in parts (KernelFunction::set_asks_devices()). Returns false where there is
  /// none (the fallback is one where `with_fallback` is true), and where the kernel declines: it leaves a result
  /// undefined.
  bool run_device_kernel(DeviceType type, bool with_fallback, const registry::Arg* args,
                         registry::Value* results) const;

  registry::OperatorEntry* entry() const noexcept { return entry_; }
  friend bool operator==(const OperatorHandle& a, const OperatorHandle& b) { return a.entry_ == b.entry_; }

 private:
  registry::OperatorEntry* entry_;
};

/// An operator to be called with C++ arguments; see OperatorHandle::typed().
template <class R, class... A>
class TypedOperatorHandle<R(A...)> : public OperatorHandle {
 public:
  R call(A... args) const {
    return run([this](const registry::Arg* views, registry::Value* results) { OperatorHandle::call(views, results); },
               args...);
  }
  R redispatch(DispatchKeySet keys, A... args) const {
    return run([this, keys](const registry::Arg* views,
                            registry::Value* results) { OperatorHandle::redispatch(keys, views, results); },
               args...);
  }

 private:
  friend class OperatorHandle;
  explicit TypedOperatorHandle(OperatorHandle handle) : OperatorHandle(handle) {}

  using Stored = registry::Results<std::remove_cvref_t<R>>;
  static constexpr bool kTakesReference = std::is_lvalue_reference_v<R>;

  template <class Call>
  static R run(Call&& call, std::remove_reference_t<A>&... args) {
    const std::tuple<decltype(registry::held_argument<std::remove_cvref_t<A>>(args))...> held{
        registry::held_argument<std::remove_cvref_t<A>>(args)...};
    const auto views = std::apply(
        [](const auto&... values) {
          return std::array<registry::Arg, sizeof...(A)>{
              registry::Converter<std::remove_cvref_t<A>>::to_arg(values)...};
        },
        held);
    std::array<registry::Value, Stored::count> results;
    call(views.data(), results.data());
    if constexpr (kTakesReference) {
      return written(results[0], args...);
    } else {
      return Stored::load(results.data());
    }
  }
  /// Returns the argument that the result of an operator such as `Tensor& add_(Tensor& self, ...)` is.
  template <class First, class... Rest>
  static R written(registry::Value& result, First& first, Rest&... rest) {
    if constexpr (std::is_same_v<std::remove_const_t<First>, std::remove_cvref_t<R>>) {
      if constexpr (sizeof...(Rest) == 0) {
        return const_cast<R>(first);
      } else if (first.same(result.tensor())) {
        return const_cast<R>(first);
      }
    }
    if constexpr (sizeof...(Rest) > 0) {
      return written(result, rest...);
    } else {
      registry::detail::undefined_tensor();
    }
  }
};

template <class Signature>
TypedOperatorHandle<Signature> OperatorHandle::typed() const {
  [this]<class R, class... A>(std::type_identity<R(A...)>) {
    static constexpr std::array<registry::Type, sizeof...(A)> arguments{
        registry::Converter<std::remove_cvref_t<A>>::type...};
    static constexpr auto results = registry::Results<std::remove_cvref_t<R>>::types;
    registry::detail::check_signature(schema(), {arguments, results}, "typed");
  }(std::type_identity<Signature>{});
  return TypedOperatorHandle<Signature>(*this);
}

}  // namespace lamella
