#include "python/bindings/operators.h"

#include <string>
#include <tuple>
#include <utility>

#include "ops/all_ops.h"
#include "python/bindings/convert.h"
#include "python/bindings/convert_doubles.h"
#include "python/bindings/diagonal.h"
#include "python/bindings/errors.h"
#include "python/bindings/interval.h"
#include "python/bindings/method.h"
#include "python/bindings/named_result.h"
#include "python/bindings/operand_list.h"
#include "python/bindings/output_size.h"
#include "python/bindings/padding.h"
#include "python/bindings/result_forms.h"

namespace lamella::python {
namespace {

PyObject* to_python(Tensor result) { return wrap(std::move(result)); }

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

/// Tensors as a list, where the Python array API standard wants one.
PyObject* to_list(std::vector<Tensor> results) {
  PyRef list = PyRef::adopt(checked(PyList_New(static_cast<Py_ssize_t>(results.size()))));
  for (std::size_t i = 0; i < results.size(); ++i) {
    PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), checked(wrap(std::move(results[i]))));
  }
  return list.release();
}

PyRef tuple_of(PyObject* const* items, Py_ssize_t count) {
  PyRef tuple = PyRef::adopt(checked(PyTuple_New(count)));
  for (Py_ssize_t i = 0; i < count; ++i) PyTuple_SET_ITEM(tuple.get(), i, Py_NewRef(items[i]));
  return tuple;
}

/// One operator as a Python function and as a method.
template <class Op, class F = decltype(&Op::call)>
struct Binding;

template <class Op, class R, class... A>
struct Binding<Op, R (*)(A...)> {
  static inline const Signature* signature = nullptr;
  static constexpr bool kTakesOut = takes_out<Op>();
  static constexpr std::size_t kValues = sizeof...(A) + (kTakesOut ? 1 : 0);
  /// The type of the result of an operator that names its parts in kFields.
  static inline PyTypeObject* result_type = nullptr;
  /// x.reshape(2, 3) stands for x.reshape((2, 3)).
  static constexpr bool kTakesSizesApart =
      std::is_same_v<std::tuple<A...>, std::tuple<const Tensor&, const Dims&>> || requires { Op::kTakesSizesApart; };
  /// f(*arrays): all positional arguments make up the first parameter.
  static constexpr bool kVariadic = is_variadic(parameters_of<Op>());

  static PyObject* call(PyObject** values) {
    if constexpr (kTakesOut) {
      if (values[sizeof...(A)] != Py_None) [[unlikely]]
        return call_with_out<Op, A...>(values, *signature);
    }
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      // Braces: the arguments are converted from left to right.
      const std::tuple<typename Held<A>::type...> held{convert<A>(values[I], Argument{*signature, I})...};
      if constexpr (requires { Op::kFields; }) {
        return named_result(result_type, Op::call(std::get<I>(held)...));
      } else if constexpr (requires { Op::kGivesList; }) {
        return to_list(Op::call(std::get<I>(held)...));
      } else {
        return to_python(Op::call(std::get<I>(held)...));
      }
    }(std::index_sequence_for<A...>{});
  }
  static PyObject* function(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
    return guarded([&]() -> PyObject* {
      PyObject* values[kValues];
      if constexpr (kVariadic) {
        const PyRef all = tuple_of(args, count);
        values[0] = all.get();
        signature->bind(args + count, 0, keywords, values, 1);
        return call(values);
      } else {
        signature->bind(args, count, keywords, values);
        return call(values);
      }
    });
  }
  static PyObject* method(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
    return guarded([&]() -> PyObject* {
      PyObject* values[kValues] = {self};
      if constexpr (kTakesSizesApart) {
        if (count > 1) {
          const PyRef sizes = tuple_of(args, count);
          values[1] = sizes.get();
          signature->bind(args + count, 0, keywords, values, 2);
          return call(values);
        }
      }
      signature->bind(args, count, keywords, values, 1);
      return call(values);
    });
  }
  static void prepare() {
    if (signature) return;
    signature = new Signature(Op::info.name, kTakesOut ? keep(with_out(parameters_of<Op>())) : parameters_of<Op>());
    if (signature->size() != kValues) {
      fail<RuntimeError>("[", Op::info.name, "] its description has ", signature->size(), " parameters, the function ",
                         kValues);
    }
    if constexpr (requires { Op::kFields; }) result_type = named_result_type(Op::info.name, Op::kFields);
  }
};

std::string dtype_list(DTypeSet dtypes) {
  if (dtypes == AnyDType) return "any";
  std::string text;
  for (std::size_t i = 0; i < kDTypeCount; ++i) {
    if (dtypes.contains(static_cast<DType>(i))) text += (text.empty() ? "" : ", ") + std::string(kDTypeNames[i]);
  }
  return text;
}

const char* docstring(const OpInfo& info, const Signature& signature, bool method) {
  std::string text = str(info.name, signature.text_signature(method), "\n--\n\n", info.doc);
  text += "\n\nDtypes: " + dtype_list(info.dtypes) + ".";
  if (info.example) text += str("\n\nExample: ``lm.", info.example, "``");
  return keep(std::move(text));
}

const char* in_place_docstring(const OpInfo& info, const Signature& signature, bool method) {
  return keep(
      str(info.name, "_", signature.text_signature(method), "\n--\n\nThe same as ", info.name,
          "(), in place: the result is written into x, which is returned.\n\nRuntimeError for a leaf that wants "
          "a gradient, ValueError where the result has another shape, TypeError where its dtype is of a higher "
          "kind than x's."));
}

template <bool kMethod>
std::vector<PyMethodDef> definitions() {
  std::vector<PyMethodDef> defs;
  const std::vector<const char*> names = operator_names();
  AllOps::for_each([&]<class Op> {
    using B = Binding<Op>;
    B::prepare();
    if (kMethod && !Op::info.method) return;
    defs.push_back({Op::info.name, kMethod ? as_c_function(B::method) : as_c_function(B::function),
                    METH_FASTCALL | METH_KEYWORDS, docstring(Op::info, *B::signature, kMethod)});
    if constexpr (may_work_in_place<Op>()) {
      if (!works_in_place<Op>(names)) return;
      using I = InPlaceBinding<Op>;
      I::prepare();
      defs.push_back({I::signature->function(), kMethod ? as_c_function(I::method) : as_c_function(I::function),
                      METH_FASTCALL | METH_KEYWORDS, in_place_docstring(Op::info, *I::signature, kMethod)});
    }
  });
  return defs;
}

}  // namespace

std::vector<PyMethodDef> operator_functions() { return definitions<false>(); }
std::vector<PyMethodDef> operator_methods() { return definitions<true>(); }

}  // namespace lamella::python
