#include "python/bindings/elementwise_form.h"

#include <type_traits>
#include <utility>

#include "python/bindings/errors.h"
#include "python/bindings/result_forms.h"
#include "python/bindings/tensor_type.h"

namespace lamella::python {
namespace {

/// An elementwise operator whose call is that of its base, for the forms of operators.
struct BaseCall {
  const ElementwiseOp& op;

  const char* name() const { return op.info->name; }
  template <class... T>
  Tensor call(const T&... operands) const {
    return call_elementwise(op, operands...);
  }
  template <class... T>
  bool launch(const Tensor& to, const T&... operands) const {
    return launch_operands(op, to, operands...);
  }
};

/// Calls f<A...>() with the types of the parameters of an operator of kInputs operands.
template <int kInputs, class F>
PyObject* with_parameters(F&& f) {
  if constexpr (kInputs == 1) {
    return f.template operator()<const Tensor&>();
  } else if constexpr (kInputs == 2) {
    return f.template operator()<const Operand&, const Operand&>();
  } else if constexpr (kInputs == 3) {
    return f.template operator()<const Operand&, const Operand&, const Operand&>();
  } else {
    return f.template operator()<const Operand&, const Operand&, const Operand&, const Operand&>();
  }
}

/// Calls f with the operands that `values` holds.
template <class... A, class F>
PyObject* with_operands(PyObject** values, const Signature& signature, F&& f) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    // Braces make the arguments be converted from left to right.
    const std::tuple<typename Held<A>::type...> held{read<A>(values[I], Argument{signature, I})...};
    return f(std::get<I>(held)...);
  }(std::index_sequence_for<A...>{});
}

}  // namespace

template <int kInputs>
PyObject* ElementwiseForm::call(PyObject* self, PyObject* const* args, Py_ssize_t count,
                                PyObject* keywords) const noexcept {
  const BaseCall each{op()};
  return guarded(
      [&]() -> PyObject* {
        PyObject* values[kInputs + 1] = {self};
        signature->bind(args, count, keywords, values, self ? 1 : 0);
        return with_parameters<kInputs>([&]<class... A>() {
          if (values[kInputs] != Py_None) [[unlikely]]
            return call_with_out<A...>(each, values, *signature);
          return with_operands<A...>(values, *signature, [&](const auto&... x) { return wrap(each.call(x...)); });
        });
      },
      each.name());
}

template <int kInputs>
PyObject* ElementwiseForm::call_in_place(PyObject* self, PyObject* const* args, Py_ssize_t count,
                                         PyObject* keywords) const noexcept {
  const char* const name = in_place_signature->function();
  return guarded(
      [&]() -> PyObject* {
        PyObject* values[kInputs] = {self};
        in_place_signature->bind(args, count, keywords, values, self ? 1 : 0);
        const Tensor& x = read<const Tensor&>(values[0], Argument{*in_place_signature, 0});
        return with_parameters<kInputs>([&]<class... A>() {
          return with_operands<A...>(values, *in_place_signature, [&](const auto&, const auto&... rest) {
            return wrap(python::call_in_place(BaseCall{op()}, name, x, rest...));
          });
        });
      },
      name);
}

template PyObject* ElementwiseForm::call<1>(PyObject*, PyObject* const*, Py_ssize_t, PyObject*) const noexcept;
template PyObject* ElementwiseForm::call<2>(PyObject*, PyObject* const*, Py_ssize_t, PyObject*) const noexcept;
template PyObject* ElementwiseForm::call<3>(PyObject*, PyObject* const*, Py_ssize_t, PyObject*) const noexcept;
template PyObject* ElementwiseForm::call<4>(PyObject*, PyObject* const*, Py_ssize_t, PyObject*) const noexcept;
template PyObject* ElementwiseForm::call_in_place<1>(PyObject*, PyObject* const*, Py_ssize_t, PyObject*) const noexcept;
template PyObject* ElementwiseForm::call_in_place<2>(PyObject*, PyObject* const*, Py_ssize_t, PyObject*) const noexcept;
template PyObject* ElementwiseForm::call_in_place<3>(PyObject*, PyObject* const*, Py_ssize_t, PyObject*) const noexcept;
template PyObject* ElementwiseForm::call_in_place<4>(PyObject*, PyObject* const*, Py_ssize_t, PyObject*) const noexcept;

}  // namespace lamella::python
