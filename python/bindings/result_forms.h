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

/// Computes an elementwise operator into `to` by one kernel, after its settings are checked as its call() does; false
/// if one kernel cannot do it.
template <class Op, class... T>
bool launch_operands(const Tensor& to, const T&... operands) {
  if constexpr (requires { &Op::check_settings; }) Op::check_settings(operands...);
  if constexpr (requires { &Op::in_kernel; }) {
    if (!Op::in_kernel(operands...)) return false;
  }
  const std::array<Operand, sizeof...(T)> list{Operand(operands)...};
  std::array<const Operand*, Op::kInputs> pointers;  // settings that are no operands follow
  for (std::size_t i = 0; i < pointers.size(); ++i) pointers[i] = &list[i];
  return launch_into(elementwise_op<Op>(), pointers, to);
}

/// Implements f(..., out=y): `values` has y last.
template <class Op, class... A>
PyObject* call_with_out(PyObject** values, const Signature& signature) {
  constexpr const char* kName = Op::info.name;
  return [&]<std::size_t... I>(std::index_sequence<I...>) -> PyObject* {
    const std::tuple<typename Held<A>::type...> held{read<A>(values[I], Argument{signature, I})...};
    const Tensor& out = read<const Tensor&>(values[sizeof...(A)], Argument{signature, sizeof...(A)});
    const TensorsOf inputs(std::get<I>(held)...);
    check_out(inputs, out, kName);
    const autograd::NoGrad off;
    const bool launched = [&] {
      if constexpr (IsElementwise<Op>) {
        return launch_operands<Op>(out, std::get<I>(held)...);
      } else {
        return false;
      }
    }();
    if (!launched) write_out(out, Op::call(std::get<I>(held)...), kName);
    finish_out(inputs, out, kName);
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
template <class Op, class... T>
const Tensor& call_in_place(const char* name, const Tensor& x, const T&... rest) {
  const TensorsOf others(rest...);
  InPlaceCall in_place(name, x, others);
  if (in_place.recorded()) {
    const Tensor& before = in_place.before();
    in_place.finish(Op::call(before, substituted(rest, x, before)...));
    return x;
  }
  const autograd::NoGrad off;
  if constexpr (requires { &Op::into; }) {
    Op::into(x, rest...);
    in_place.finish_written();
    return x;
  } else if constexpr (IsElementwise<Op>) {
    if (launch_operands<Op>(x, x, rest...)) {
      in_place.finish_written();
      return x;
    }
  }
  in_place.finish(Op::call(x, rest...));
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
      return wrap(call_in_place<Op>(signature->function(), x, std::get<I>(held)...));
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
