#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "engine/registry/convert.h"
#include "engine/registry/kernel.h"
#include "engine/registry/key.h"
#include "engine/registry/schema.h"

namespace lamella {

template <class Signature>
class TypedOperatorHandle;

namespace registry {
class OperatorEntry;

/// A position in a source file at which something was registered.
struct Place {
  std::string file;
  unsigned line = 0;

  Place() = default;
  Place(std::string file, unsigned line) : file(std::move(file)), line(line) {}
  Place(const std::source_location& where) : file(where.file_name()), line(where.line()) {}
  /// Returns a text such as "csrc/ops.cpp:12", or "unknown".
  std::string str() const;
  friend bool operator==(const Place&, const Place&) = default;
};

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

/// A registered operator. Freely copied, and valid as long as the process lives: a call of one whose library was
/// unloaded throws RuntimeError.
class OperatorHandle {
 public:
  explicit OperatorHandle(registry::OperatorEntry* entry) noexcept : entry_(entry) {}

  /// Returns the operator's schema; throws RuntimeError if it was removed. The reference stays valid.
  const Schema& schema() const;
  /// Returns "ns::name"; never freed.
  const std::string& name() const noexcept;
  const std::string& overload() const noexcept;
  /// Returns "ns::name.overload".
  const std::string& full_name() const noexcept;
  /// True if the operator is still registered.
  bool is_defined() const noexcept;
  /// Returns the author's documentation.
  std::string doc() const;
  /// Returns the place of the definition.
  registry::Place place() const;
  /// Returns its kernels, in the order of their keys.
  std::vector<registry::KernelInfo> kernels() const;
  bool has_kernel(DispatchKey key) const;

  /// Returns a handle for calls with C++ arguments: `op.typed<Tensor(const Tensor&, int64_t)>().call(x, 2)`. Throws
  /// TypeError that names the argument and both types if the signature does not fit the schema.
  template <class Signature>
  TypedOperatorHandle<Signature> typed() const;

  /// Calls the operator with one argument and one result for each of the schema's.
  ///
  /// Throws NotImplementedError if there is no kernel for the tensors' device, RuntimeError if they are on several
  /// devices, and the exceptions of the kernel.
  void call(const registry::Arg* args, registry::Value* results) const;
  /// Calls the kernel of the highest of `keys` that has one; used by a kernel to continue below itself.
  void redispatch(DispatchKeySet keys, const registry::Arg* args, registry::Value* results) const;
  /// Calls the operator with values. Missing arguments at the end get their defaults. Throws TypeError that names the
  /// argument if its type is not that of the schema.
  std::vector<registry::Value> call_boxed(std::span<const registry::Value> args) const;

  /// True if there is a kernel for tensors on devices of this kind, or a fallback for all operators on them.
  bool has_device_kernel(DeviceType type) const noexcept;
  /// Runs the kernel of a device kind, below autograd and without checking the arguments; called by an operator for all
  /// devices for its own parts (KernelFunction::set_asks_devices()). Returns false if there is none (the fallback
  /// counts if `with_fallback`), or if the kernel declines by leaving a result undefined.
  bool run_device_kernel(DeviceType type, bool with_fallback, const registry::Arg* args,
                         registry::Value* results) const;

  registry::OperatorEntry* entry() const noexcept { return entry_; }
  friend bool operator==(const OperatorHandle& a, const OperatorHandle& b) { return a.entry_ == b.entry_; }

 private:
  registry::OperatorEntry* entry_;
};

/// An operator that is called with C++ arguments; see OperatorHandle::typed().
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
    const std::array<registry::Arg, sizeof...(A)> views{registry::Converter<std::remove_cvref_t<A>>::to_arg(args)...};
    std::array<registry::Value, Stored::count> results;
    call(views.data(), results.data());
    if constexpr (kTakesReference) {
      return written(results[0], args...);
    } else {
      return Stored::load(results.data());
    }
  }
  /// Returns the argument that is the result, as in `Tensor& add_(Tensor& self, ...)`.
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

/// The table of all registered operators.
class Dispatcher {
 public:
  static Dispatcher& singleton();

  /// Returns the operator "ns::name" with that overload name ("ns::name.overload" works too), or nothing.
  std::optional<OperatorHandle> find_schema(std::string_view name, std::string_view overload = "");
  /// Returns the operator; throws RuntimeError with similar names if there is none.
  OperatorHandle find_schema_or_throw(std::string_view name, std::string_view overload = "");

  /// Returns every operator, or those of one namespace, by name.
  std::vector<OperatorHandle> operators(std::string_view ns = "");
  /// Returns the overloads of "ns::name", in the order of their definitions.
  std::vector<OperatorHandle> overloads(std::string_view name);
  /// Returns the namespaces that have operators, by name.
  std::vector<std::string> namespaces();

  /// Registers a function that defines the operators of a namespace when they are first looked up.
  void register_provider(std::string_view ns, void (*define)());

 private:
  Dispatcher() = default;
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
