#pragma once

#include <Python.h>

#include <array>
#include <cstdint>
#include <span>
#include <tuple>
#include <utility>

#include "ops/op_info.h"
#include "python/bindings/convert.h"
#include "python/bindings/convert_doubles.h"
#include "python/bindings/cuts.h"
#include "python/bindings/definition.h"
#include "python/bindings/diagonal.h"
#include "python/bindings/elementwise_form.h"
#include "python/bindings/errors.h"
#include "python/bindings/interval.h"
#include "python/bindings/named_result.h"
#include "python/bindings/operand_list.h"
#include "python/bindings/output_size.h"
#include "python/bindings/padding.h"
#include "python/bindings/result_forms.h"

// Defines the functions and methods by which Python calls operators. This is the costliest code of the bindings to
// compile, as each operator has its own; the files operators_*.cc include it, each for its lists of operators.

namespace lamella::python {

inline PyObject* to_python(Tensor result) { return wrap(std::move(result)); }

template <class Tensors>
PyObject* to_python(Tensors results)
  requires std::is_same_v<typename Tensors::value_type, Tensor>
{
  PyRef tuple = PyRef::adopt(checked(PyTuple_New(static_cast<Py_ssize_t>(results.size()))));
  for (std::size_t i = 0; i < results.size(); ++i) {
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), checked(wrap(std::move(results[i]))));
  }
  return tuple.release();
}

/// Returns tensors as a list, where the Python array API standard wants one.
inline PyObject* to_list(std::vector<Tensor> results) {
  PyRef list = PyRef::adopt(checked(PyList_New(static_cast<Py_ssize_t>(results.size()))));
  for (std::size_t i = 0; i < results.size(); ++i) {
    PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), checked(wrap(std::move(results[i]))));
  }
  return list.release();
}

inline PyRef tuple_of(PyObject* const* items, Py_ssize_t count) {
  PyRef tuple = PyRef::adopt(checked(PyTuple_New(count)));
  for (Py_ssize_t i = 0; i < count; ++i) PyTuple_SET_ITEM(tuple.get(), i, Py_NewRef(items[i]));
  return tuple;
}

/// Describes an operator to the code that operators of its function type share.
struct Bound {
  /// Points to the operator's function, which has that type.
  const void* function;
  const char* name;
  /// Calls the operator with `out`, which is the last value; null for one without it.
  PyObject* (*call_out)(PyObject** values, const Signature& signature);
  const Signature* signature = nullptr;
  /// Named tuple type of the result of an operator that names its fields in kFields.
  PyTypeObject* result_type = nullptr;
};

enum class ResultForm : std::uint8_t { Plain, List, Named };
template <class Op>
constexpr ResultForm result_form() {
  if (requires { Op::kFields; }) return ResultForm::Named;
  return requires { Op::kGivesList; } ? ResultForm::List : ResultForm::Plain;
}

/// Calls operators of one function type, whose arguments it converts.
template <ResultForm kForm, bool kTakesOut, class R, class... A>
struct BoundCall {
  static constexpr std::size_t kValues = sizeof...(A) + (kTakesOut ? 1 : 0);

  [[gnu::always_inline]] static PyObject* call(PyObject** values, const Bound& bound) {
    if constexpr (kTakesOut) {
      if (values[sizeof...(A)] != Py_None) [[unlikely]]
        return bound.call_out(values, *bound.signature);
    }
    return [&]<std::size_t... I>(std::index_sequence<I...>) __attribute__((always_inline)) {
      // Braces make the arguments be converted from left to right.
      const std::tuple<typename Held<A>::type...> held{read<A>(values[I], Argument{*bound.signature, I})...};
      const auto function = *static_cast<R (*const*)(A...)>(bound.function);
      if constexpr (kForm == ResultForm::Named) {
        return named_result(bound.result_type, function(std::get<I>(held)...));
      } else if constexpr (kForm == ResultForm::List) {
        return to_list(function(std::get<I>(held)...));
      } else {
        return to_python(function(std::get<I>(held)...));
      }
    }(std::index_sequence_for<A...>{});
  }

  /// If kVariadic, all positional arguments make up the first parameter.
  template <bool kVariadic>
  [[gnu::noinline]] static PyObject* function(const Bound& bound, PyObject* const* args, Py_ssize_t count,
                                              PyObject* keywords) {
    return guarded(
        [&]() -> PyObject* {
          PyObject* values[kValues];
          if constexpr (kVariadic) {
            const PyRef all = tuple_of(args, count);
            values[0] = all.get();
            bound.signature->bind(args + count, 0, keywords, values, 1);
            return call(values, bound);
          } else {
            bound.signature->bind(args, count, keywords, values);
            return call(values, bound);
          }
        },
        bound.name);
  }
  template <bool kTakesSizesApart>
  [[gnu::noinline]] static PyObject* method(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords,
                                            const Bound& bound) {
    return guarded(
        [&]() -> PyObject* {
          PyObject* values[kValues] = {self};
          if constexpr (kTakesSizesApart) {
            if (count > 1) {
              const PyRef sizes = tuple_of(args, count);
              values[1] = sizes.get();
              bound.signature->bind(args + count, 0, keywords, values, 2);
              return call(values, bound);
            }
          }
          bound.signature->bind(args, count, keywords, values, 1);
          return call(values, bound);
        },
        bound.name);
  }
};

/// Binds one operator as a Python function and as a method, by code of a few instructions that hands the call to the
/// code above.
template <class Op, class F = decltype(&Op::call)>
struct Binding;

template <class Op, class R, class... A>
struct Binding<Op, R (*)(A...)> {
  using Call = BoundCall<result_form<Op>(), takes_out<Op>(), R, A...>;
  static constexpr std::size_t kValues = Call::kValues;
  /// True if the method also takes its sizes apart: x.reshape(2, 3) for x.reshape((2, 3)).
  static constexpr bool kTakesSizesApart =
      std::is_same_v<std::tuple<A...>, std::tuple<const Tensor&, const Dims&>> || requires { Op::kTakesSizesApart; };
  /// True if all positional arguments make up the first parameter: f(*arrays).
  static constexpr bool kVariadic = is_variadic(parameters_of<Op>());
  static constexpr R (*kFunction)(A...) = &Op::call;

  static consteval auto out() -> PyObject* (*)(PyObject**, const Signature&) {
    if constexpr (takes_out<Op>()) {
      return [](PyObject** values, const Signature& signature) {
        return call_with_out<A...>(OwnCall<Op>(), values, signature);
      };
    } else {
      return nullptr;
    }
  }
  static inline Bound bound{.function = &kFunction, .name = Op::info.name, .call_out = out()};

  static PyObject* function(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
    return Call::template function<kVariadic>(bound, args, count, keywords);
  }
  static PyObject* method(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
    return Call::template method<kTakesSizesApart>(self, args, count, keywords, bound);
  }
};

/// Binds an elementwise operator whose call is that of its base: code of a few instructions, which hands it to the code
/// that all of these share.
template <class Op>
struct ElementwiseBinding {
  // Made when the module is loaded, so that a call finds the description without another call.
  static inline ElementwiseForm form{.op = elementwise_op<Op>()};

  static PyObject* function(PyObject* module, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
    return ElementwiseForm::call<Op::kInputs, false>(module, args, count, keywords, form);
  }
  static PyObject* method(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
    return ElementwiseForm::call<Op::kInputs, true>(self, args, count, keywords, form);
  }
  static PyObject* in_place_function(PyObject* module, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
    return ElementwiseForm::call_in_place<Op::kInputs, false>(module, args, count, keywords, form);
  }
  static PyObject* in_place_method(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
    return ElementwiseForm::call_in_place<Op::kInputs, true>(self, args, count, keywords, form);
  }
};

/// True if an elementwise operator's call is that of its base, and no form of it has code of its own.
template <class Op>
constexpr bool calls_its_base() {
  constexpr auto inherits = []<class Base>(std::type_identity<Base>) {
    if constexpr (std::is_base_of_v<Base, Op> && std::is_same_v<decltype(&Op::call), decltype(&Base::call)>) {
      return &Op::call == &Base::call;
    } else {
      return false;
    }
  };
  if constexpr (requires { &Op::check_settings; } || requires { &Op::in_kernel; } || requires { &Op::into; }) {
    return false;
  } else {
    return inherits(std::type_identity<Unary<Op>>()) || inherits(std::type_identity<Binary<Op>>()) ||
           inherits(std::type_identity<Ternary<Op>>()) || inherits(std::type_identity<Quaternary<Op>>());
  }
}

/// Types of an operator's parameters, the last of which may be `out`, as a stub file spells them.
template <class Op, class F = decltype(&Op::call)>
struct Annotations;
template <class Op, class R, class... A>
struct Annotations<Op, R (*)(A...)> {
  static constexpr auto kAll = [] {
    std::array<const char*, Binding<Op>::kValues> all{ArgumentType<std::remove_cvref_t<A>>::annotation...};
    if constexpr (takes_out<Op>()) all.back() = ArgumentType<std::optional<Tensor>>::annotation;
    return all;
  }();
};

template <class Op>
constexpr Definition definition_of() {
  const char* const several = requires { Op::kGivesList; } ? "list[Tensor]" : "tuple[Tensor, ...]";
  Definition definition{.info = &Op::info,
                        .parameters = parameters_of<Op>(),
                        .types = Annotations<Op>::kAll,
                        .returns = gives_a_tensor(&Op::call) ? "Tensor" : several,
                        .takes_out = takes_out<Op>(),
                        .takes_sizes_apart = false,
                        .form = {},
                        .fields = {},
                        .result_type = nullptr,
                        .in_place = {},
                        .elementwise = nullptr};
  if constexpr (calls_its_base<Op>()) {
    using B = ElementwiseBinding<Op>;
    definition.form = {&B::form.signature, B::function, B::method};
    if (may_work_in_place<Op>()) {
      definition.in_place = {&B::form.in_place_signature, B::in_place_function, B::in_place_method};
    }
  } else {
    using B = Binding<Op>;
    definition.form = {&B::bound.signature, B::function, B::method};
    definition.takes_sizes_apart = B::kTakesSizesApart;
    definition.result_type = &B::bound.result_type;
    if constexpr (may_work_in_place<Op>()) {
      using I = InPlaceBinding<Op>;
      definition.in_place = {&I::signature, I::function, I::method};
    }
  }
  if constexpr (requires { Op::kFields; }) definition.fields = Op::kFields;
  if constexpr (IsElementwise<Op>) definition.elementwise = elementwise_op<Op>;
  return definition;
}

template <class Ops>
std::span<const Definition> definitions_of() {
  static constexpr auto kAll = [] {
    std::array<Definition, Ops::size> all{};
    std::size_t i = 0;
    Ops::for_each([&]<class Op> { all[i++] = definition_of<Op>(); });
    return all;
  }();
  return kAll;
}

}  // namespace lamella::python
