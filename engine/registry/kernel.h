#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "engine/registry/convert.h"
#include "engine/registry/key.h"

namespace lamella {

class OperatorHandle;
class Schema;

namespace registry {

/// The operator that a kernel runs for, its arguments and results, and the keys that it may redispatch to.
struct CallContext {
  const OperatorHandle& op;
  const Schema& schema;
  DispatchKeySet remaining;
};

/// A kernel for any operator: it gets as many arguments and results as the schema has.
using BoxedKernel = void (*)(const CallContext& context, std::span<const Arg> args, std::span<Value> results);

namespace detail {

/// The C++ signature of a kernel, in types of schemas.
struct SignatureView {
  std::span<const Type> arguments;
  std::span<const Type> results;
};

template <class F>
struct CallableOf : CallableOf<decltype(&F::operator())> {};
template <class R, class... A>
struct CallableOf<R (*)(A...)> {
  using Result = R;
  using Arguments = std::tuple<A...>;
};
template <class R, class... A>
struct CallableOf<R (*)(A...) noexcept> : CallableOf<R (*)(A...)> {};
template <class C, class R, class... A>
struct CallableOf<R (C::*)(A...)> : CallableOf<R (*)(A...)> {};
template <class C, class R, class... A>
struct CallableOf<R (C::*)(A...) const> : CallableOf<R (*)(A...)> {};
template <class C, class R, class... A>
struct CallableOf<R (C::*)(A...) const noexcept> : CallableOf<R (*)(A...)> {};

template <class P>
constexpr void check_parameter() {
  using T = std::remove_cvref_t<P>;
  static_assert(!std::is_same_v<T, float>, "a kernel takes floats as double");
  static_assert(!std::is_integral_v<T> || std::is_same_v<T, bool> || std::is_same_v<T, std::int64_t>,
                "a kernel takes integers as int64_t");
  static_assert(!std::is_same_v<T, const char*> && !std::is_same_v<T, char*>,
                "a kernel takes texts as std::string_view or std::string");
  static_assert(Convertible<T>,
                "a kernel's parameter is const Tensor&, int64_t, double, bool, std::string_view, Scalar, DType, "
                "Device, a std::optional or a std::span/std::vector of these; or specialize Converter for it");
}

/// Passes a converted argument on as the kernel's parameter type P.
template <class P, class Made>
decltype(auto) pass(Made&& made) {
  if constexpr (std::is_lvalue_reference_v<P> || std::is_lvalue_reference_v<Made>) {
    return (made);
  } else {
    return std::forward<Made>(made);
  }
}

/// True if the first parameter is the set of keys; Rest are the other parameters.
template <class Arguments>
struct TakesKeys : std::false_type {
  using Rest = Arguments;
};
template <class... A>
struct TakesKeys<std::tuple<DispatchKeySet, A...>> : std::true_type {
  using Rest = std::tuple<A...>;
};

template <class F, class Arguments>
struct Unboxed;
template <class F, class... P>
struct Unboxed<F, std::tuple<P...>> {
  using Callable = CallableOf<F>;
  using R = typename Callable::Result;
  static constexpr bool kTakesKeys = TakesKeys<typename Callable::Arguments>::value;
  static constexpr std::array<Type, sizeof...(P)> arguments{Converter<std::remove_cvref_t<P>>::type...};

  static void call(const void* functor, const CallContext& context, const Arg* args, Value* results) {
    F& f = *const_cast<F*>(static_cast<const F*>(functor));
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      std::tuple<decltype(Converter<std::remove_cvref_t<P>>::from_arg(args[I]))...> made{
          Converter<std::remove_cvref_t<P>>::from_arg(args[I])...};
      Results<std::remove_cvref_t<R>>::store(results, [&]() -> decltype(auto) {
        if constexpr (kTakesKeys) {
          return f(context.remaining,
                   pass<P>(std::forward<std::tuple_element_t<I, decltype(made)>>(std::get<I>(made)))...);
        } else {
          return f(pass<P>(std::forward<std::tuple_element_t<I, decltype(made)>>(std::get<I>(made)))...);
        }
      });
    }(std::index_sequence_for<P...>{});
  }
};

}  // namespace detail

/// A kernel to register, made of a function, a function pointer or a lambda.
///
/// Parameters: const Tensor& (Tensor, Tensor&), int64_t, double, bool, std::string_view (std::string), const Scalar&,
/// DType, Device, Generator*; std::optional of these; std::span<const T>, std::vector<T> and, for a list of fixed
/// length, std::array<T, N> of Tensor, int64_t, double, bool and std::string_view. A first parameter DispatchKeySet
/// receives the keys that are left to redispatch to. Results: void, Tensor, int64_t, double, bool, std::string, vectors
/// and optionals of these, or a std::tuple of several.
class KernelFunction {
 public:
  using Call = void (*)(const void* functor, const CallContext& context, const Arg* args, Value* results);

  template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, KernelFunction>)
  KernelFunction(F&& f) {
    using Stored = std::decay_t<F>;
    using Arguments = typename detail::TakesKeys<typename detail::CallableOf<Stored>::Arguments>::Rest;
    [&]<class... P>(std::tuple<P...>*) { (detail::check_parameter<P>(), ...); }(static_cast<Arguments*>(nullptr));
    using Unboxed = detail::Unboxed<Stored, Arguments>;
    call_ = Unboxed::call;
    functor_ = new Stored(std::forward<F>(f));
    destroy_ = [](void* functor) { delete static_cast<Stored*>(functor); };
    is_pointer_ = std::is_pointer_v<Stored>;
    signature_ = {Unboxed::arguments, Results<std::remove_cvref_t<typename Unboxed::R>>::types};
  }
  /// Returns a kernel with boxed arguments, for any schema.
  static KernelFunction boxed(BoxedKernel function);
  /// Returns a kernel with boxed arguments and data of its own, which `destroy` frees.
  static KernelFunction boxed(Call call, void* functor, void (*destroy)(void*));
  /// Returns a marker that skips a key as if it had no kernel. For Autograd: the operators in the device's kernel are
  /// recorded themselves.
  static KernelFunction fallthrough();
  /// For a kernel for Autograd: skips it in calls that are not recorded.
  void set_for_recording() noexcept { for_recording_ = true; }
  /// For a kernel for all devices: every call runs it, and it calls the kernels of single devices itself
  /// (run_device_kernel()).
  void set_asks_devices() noexcept { asks_devices_ = true; }

  KernelFunction(KernelFunction&& other) noexcept
      : call_(other.call_),
        functor_(std::exchange(other.functor_, nullptr)),
        destroy_(std::exchange(other.destroy_, nullptr)),
        signature_(other.signature_),
        for_recording_(other.for_recording_),
        asks_devices_(other.asks_devices_),
        is_pointer_(other.is_pointer_) {}
  KernelFunction& operator=(KernelFunction&&) = delete;
  ~KernelFunction() {
    if (destroy_) destroy_(functor_);
  }

  bool is_fallthrough() const noexcept { return call_ == nullptr; }
  bool is_for_recording() const noexcept { return for_recording_; }
  bool asks_devices() const noexcept { return asks_devices_; }
  /// True if this was made by boxed(function).
  bool is(BoxedKernel function) const noexcept;
  /// True if both are known to be the same function: made of equal function pointers, or both skip their key.
  bool is_same(const KernelFunction& other) const noexcept {
    if (call_ != other.call_ || for_recording_ != other.for_recording_) return false;
    if (is_fallthrough()) return true;
    using Function = void (*)();
    return is_pointer_ && other.is_pointer_ && std::memcmp(functor_, other.functor_, sizeof(Function)) == 0;
  }
  /// Returns the types of its parameters and results; nothing for boxed kernels.
  const std::optional<detail::SignatureView>& signature() const noexcept { return signature_; }
  void operator()(const CallContext& context, const Arg* args, Value* results) const {
    call_(functor_, context, args, results);
  }

 private:
  KernelFunction() = default;

  Call call_ = nullptr;
  void* functor_ = nullptr;
  void (*destroy_)(void*) = nullptr;
  std::optional<detail::SignatureView> signature_;
  bool for_recording_ = false;
  bool asks_devices_ = false;
  /// True if functor_ holds a function pointer.
  bool is_pointer_ = false;
};

}  // namespace registry
}  // namespace lamella
