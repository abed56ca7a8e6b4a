#include "python/bindings/elementwise_form.h"

#include <tuple>
#include <type_traits>
#include <utility>

#include "python/bindings/errors.h"
#include "python/bindings/result_forms.h"
#include "python/bindings/tensor_object.h"

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

/// Keeps the rare form out of the other one, which is inlined into one function.
template <class... A>
[[gnu::cold, gnu::noinline]] PyObject* with_out(const BaseCall& op, PyObject** values, const Signature& signature) {
  return call_with_out<A...>(op, values, signature);
}

}  // namespace

template <int kInputs, bool kMethod>
[[gnu::flatten]] PyObject* ElementwiseForm::call(PyObject* self, PyObject* const* args, Py_ssize_t count,
                                                 PyObject* keywords, const ElementwiseForm& form) noexcept {
  const Signature& signature = *form.signature;
  return guarded(
      [&]() -> PyObject* {
        PyObject* values[kInputs + 1] = {self};
        signature.bind(args, count, keywords, values, kMethod ? 1 : 0);
        return with_parameters<kInputs>([&]<class... A>() {
          const BaseCall op{form.op};
          if (values[kInputs] != Py_None) [[unlikely]]
            return with_out<A...>(op, values, signature);
          return with_operands<A...>(values, signature, [&](const auto&... x) { return wrap(op.call(x...)); });
        });
      },
      signature.function());
}

template <int kInputs, bool kMethod>
PyObject* ElementwiseForm::call_in_place(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords,
                                         const ElementwiseForm& form) noexcept {
  const Signature& signature = *form.in_place_signature;
  return guarded(
      [&]() -> PyObject* {
        PyObject* values[kInputs] = {self};
        signature.bind(args, count, keywords, values, kMethod ? 1 : 0);
        const Tensor& x = read<const Tensor&>(values[0], Argument{signature, 0});
        return with_parameters<kInputs>([&]<class... A>() {
          return with_operands<A...>(values, signature, [&](const auto&, const auto&... rest) {
            return wrap(python::call_in_place(BaseCall{form.op}, signature.function(), x, rest...));
          });
        });
      },
      signature.function());
}

namespace {

template <int... kInputs>
[[maybe_unused]] auto instantiate(std::integer_sequence<int, kInputs...>) {
  using Form = ElementwiseForm;
  return std::tuple{&Form::call<kInputs + 1, false>..., &Form::call<kInputs + 1, true>...,
                    &Form::call_in_place<kInputs + 1, false>..., &Form::call_in_place<kInputs + 1, true>...};
}
// Odr-uses every form, so that each is emitted in this file only.
[[gnu::used]] const auto kForms = instantiate(std::make_integer_sequence<int, ElementwiseOp::kMaxInputs>());

}  // namespace
}  // namespace lamella::python
