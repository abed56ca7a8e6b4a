#pragma once

#include <Python.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/core/modes.h"
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/results.h"
#include "ops/op_info.h"
#include "python/bindings/convert.h"
#include "python/bindings/errors.h"

// Forms of an operator that the bindings add to the plain one: `f(x, out=y)`, and the in-place form `f_(x)`.

namespace lamella::python {

template <class R, class... A>
constexpr bool gives_a_tensor(R (*)(A...)) {
  return std::is_same_v<R, Tensor>;
}

/// True if the operator has the form with `out=`.
template <class Op>
constexpr bool takes_out() {
  if constexpr (requires { Op::kNumberByNumber; }) return true;
  static_assert(!Op::info.out || gives_a_tensor(&Op::call), "out= takes one result");
  return IsElementwise<Op> || Op::info.out;
}
/// True if the operator may have an in-place form: its first parameter is a tensor.
template <class Op>
constexpr bool may_work_in_place() {
  if constexpr (IsElementwise<Op>) {
    return !Op::kMaskInput && Op::info.method;
  } else {
    static_assert(!Op::info.in_place || gives_a_tensor(&Op::call), "an in-place form has one result");
    return Op::info.in_place;
  }
}

/// True if the parameters begin with "*arrays".
constexpr bool is_variadic(std::string_view parameters) {
  return parameters.size() > 1 && parameters[0] == '*' && parameters[1] != ',';
}
/// Type that holds an argument between its conversion and the call.
template <class T>
struct Held {
  using type = T;
};
template <>
struct Held<const Tensor&> {
  using type = const Tensor&;
};
template <class T>
struct Held<const T&> {
  using type = T;
};

template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};

/// Lists the tensors among converted arguments.
class TensorsOf {
 public:
  template <class... T>
  explicit TensorsOf(const T&... arguments) {
    (add(arguments), ...);
  }
  operator std::span<const Tensor* const>() const { return tensors_; }

 private:
  template <class T>
  void add(const T& argument) {
    if constexpr (std::is_same_v<T, Tensor>) {
      tensors_.push_back(&argument);
    } else if constexpr (std::is_same_v<T, Operand>) {
      if (!argument.is_number()) tensors_.push_back(&argument.tensor());
    } else if constexpr (std::is_same_v<T, std::vector<Tensor>>) {
      for (const Tensor& x : argument) tensors_.push_back(&x);
    } else if constexpr (IsOptional<T>::value) {
      if (argument) add(*argument);
    }
  }

  SmallVector<const Tensor*, 4> tensors_;
};

/// Computes an elementwise operator into `to` by one kernel; false if one kernel cannot do it.
template <class... T>
bool launch_operands(const ElementwiseOp& op, const Tensor& to, const T&... operands) {
  const std::array<Operand, sizeof...(T)> list{Operand(operands)...};
  std::array<const Operand*, sizeof...(T)> pointers;
  for (std::size_t i = 0; i < pointers.size(); ++i) pointers[i] = &list[i];
  // Settings that are no operands follow these.
  return launch_into(op, std::span(pointers).first(static_cast<std::size_t>(op.inputs)), to);
}

/// An operator that the forms below call by its own call().
template <class Op>
struct OwnCall {
  static const char* name() { return Op::info.name; }
  template <class... T>
  static auto call(const T&... arguments) {
    return Op::call(arguments...);
  }
  /// Computes into `to` by one kernel, after the settings are checked as call() does; false if that cannot be done.
  template <class... T>
  static bool launch(const Tensor& to, const T&... operands) {
    if constexpr (IsElementwise<Op>) {
      if constexpr (requires { &Op::check_settings; }) Op::check_settings(operands...);
      if constexpr (requires { &Op::in_kernel; }) {
        if (!Op::in_kernel(operands...)) return false;
      }
      return launch_operands(elementwise_op<Op>(), to, operands...);
    } else {
      return false;
    }
  }
  /// Overwrites x, where the operator has code for that.
  template <class... T>
  static void into(const Tensor& x, const T&... rest)
    requires requires { &Op::into; }
  {
    Op::into(x, rest...);
  }
};

/// Implements f(..., out=y): `values` has y last.
template <class... A>
PyObject* call_with_out(const auto& op, PyObject** values, const Signature& signature) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) -> PyObject* {
    const std::tuple<typename Held<A>::type...> held{read<A>(values[I], Argument{signature, I})...};
    const Tensor& out = read<const Tensor&>(values[sizeof...(A)], Argument{signature, sizeof...(A)});
    const TensorsOf inputs(std::get<I>(held)...);
    check_out(inputs, out, op.name());
    const autograd::NoGrad off;
    if (!op.launch(out, std::get<I>(held)...)) write_out(out, op.call(std::get<I>(held)...), op.name());
    finish_out(inputs, out, op.name());
    return Py_NewRef(values[sizeof...(A)]);
  }(std::index_sequence_for<A...>{});
}

/// Returns an argument of an in-place call, with `before` in place of the tensor that is overwritten.
template <class T>
decltype(auto) substituted(const T& argument, const Tensor& x, const Tensor& before) {
  if constexpr (std::is_same_v<T, Tensor>) {
    return argument.same(x) ? before : argument;
  } else if constexpr (std::is_same_v<T, Operand>) {
    return !argument.is_number() && argument.tensor().same(x) ? Operand(before) : argument;
  } else {
    return (argument);
  }
}

/// Overwrites x with the operator's result for x and the other arguments.
template <class... T>
const Tensor& call_in_place(const auto& op, const char* name, const Tensor& x, const T&... rest) {
  const TensorsOf others(rest...);
  InPlaceCall in_place(name, x, others);
  if (in_place.recorded()) {
    const Tensor& before = in_place.before();
    in_place.finish(op.call(before, substituted(rest, x, before)...));
    return x;
  }
  const autograd::NoGrad off;
  if constexpr (requires { op.into(x, rest...); }) {
    op.into(x, rest...);
    in_place.finish_written();
    return x;
  } else if (op.launch(x, x, rest...)) {
    in_place.finish_written();
    return x;
  }
  in_place.finish(op.call(x, rest...));
  return x;
}

/// Binds the in-place form of an operator as a Python function and as a method.
template <class Op, class F = decltype(&Op::call)>
struct InPlaceBinding;

template <class Op, class X, class... A>
struct InPlaceBinding<Op, Tensor (*)(X, A...)> {
  static inline const Signature* signature = nullptr;

  static PyObject* call(PyObject** values) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      const Tensor& x = read<const Tensor&>(values[0], Argument{*signature, 0});
      const std::tuple<typename Held<A>::type...> held{read<A>(values[I + 1], Argument{*signature, I + 1})...};
      return wrap(call_in_place(OwnCall<Op>(), signature->function(), x, std::get<I>(held)...));
    }(std::index_sequence_for<A...>{});
  }
  static PyObject* function(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
    return guarded(
        [&]() -> PyObject* {
          PyObject* values[1 + sizeof...(A)];
          signature->bind(args, count, keywords, values);
          return call(values);
        },
        signature->function());
  }
  static PyObject* method(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
    return guarded(
        [&]() -> PyObject* {
          PyObject* values[1 + sizeof...(A)] = {self};
          signature->bind(args, count, keywords, values, 1);
          return call(values);
        },
        signature->function());
  }
};

}  // namespace lamella::python
