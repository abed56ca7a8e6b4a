#include "python/bindings/operators.h"

#include <deque>
#include <string>
#include <tuple>
#include <utility>

#include "ops/all_ops.h"
#include "python/bindings/convert.h"
#include "python/bindings/convert_doubles.h"
#include "python/bindings/errors.h"
#include "python/bindings/method.h"

namespace lamella::python {
namespace {

/// What an argument is kept in between its conversion and the call.
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

template <class T>
typename Held<T>::type convert(PyObject* object, const Argument& argument) {
  using H = typename Held<T>::type;
  if constexpr (IsOptional<H>::value) {
    return read_optional<typename H::value_type>(object, argument);
  } else {
    return read<H>(object, argument);
  }
}

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

PyRef tuple_of(PyObject* const* items, Py_ssize_t count) {
  PyRef tuple = PyRef::adopt(checked(PyTuple_New(count)));
  for (Py_ssize_t i = 0; i < count; ++i) PyTuple_SET_ITEM(tuple.get(), i, Py_NewRef(items[i]));
  return tuple;
}

template <class Op>
constexpr const char* parameters_of() {
  if constexpr (requires { Op::kParameters; }) {
    return Op::info.parameters ? Op::info.parameters : Op::kParameters;
  } else {
    return Op::info.parameters ? Op::info.parameters : "";
  }
}

/// One operator as a Python function and as a method.
template <class Op, class F = decltype(&Op::call)>
struct Binding;

template <class Op, class R, class... A>
struct Binding<Op, R (*)(A...)> {
  static inline const Signature* signature = nullptr;
  /// x.reshape(2, 3) stands for x.reshape((2, 3)).
  static constexpr bool kTakesSizesApart = std::is_same_v<std::tuple<A...>, std::tuple<const Tensor&, const Dims&>>;

  static PyObject* call(PyObject** values) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      // Braces: the arguments are converted from left to right.
      const std::tuple<typename Held<A>::type...> held{convert<A>(values[I], Argument{*signature, I})...};
      return to_python(Op::call(std::get<I>(held)...));
    }(std::index_sequence_for<A...>{});
  }
  static PyObject* function(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
    return guarded([&]() -> PyObject* {
      PyObject* values[sizeof...(A)];
      signature->bind(args, count, keywords, values);
      return call(values);
    });
  }
  static PyObject* method(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
    return guarded([&]() -> PyObject* {
      PyObject* values[sizeof...(A)] = {self};
      if constexpr (kTakesSizesApart) {
        if (count > 1 && !keywords) {
          const PyRef sizes = tuple_of(args, count);
          values[1] = sizes.get();
          return call(values);
        }
      }
      signature->bind(args, count, keywords, values, 1);
      return call(values);
    });
  }
  static void prepare() {
    if (signature) return;
    signature = new Signature(Op::info.name, parameters_of<Op>());
    if (signature->size() != sizeof...(A)) {
      fail<RuntimeError>("[", Op::info.name, "] its description has ", signature->size(), " parameters, the function ",
                         sizeof...(A));
    }
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

/// Docstrings live as long as the functions they belong to.
const char* keep(std::string text) {
  static auto* texts = new std::deque<std::string>;
  return texts->emplace_back(std::move(text)).c_str();
}

const char* docstring(const OpInfo& info, const Signature& signature, bool method) {
  std::string text = str(info.name, signature.text_signature(method), "\n--\n\n", info.doc);
  text += "\n\nDtypes: " + dtype_list(info.dtypes) + ".";
  if (info.example) text += str("\n\nExample: ``lm.", info.example, "``");
  return keep(std::move(text));
}

template <bool kMethod>
std::vector<PyMethodDef> definitions() {
  std::vector<PyMethodDef> defs;
  AllOps::for_each([&]<class Op> {
    using B = Binding<Op>;
    B::prepare();
    if (kMethod && !Op::info.method) return;
    defs.push_back({Op::info.name, kMethod ? as_c_function(B::method) : as_c_function(B::function),
                    METH_FASTCALL | METH_KEYWORDS, docstring(Op::info, *B::signature, kMethod)});
  });
  return defs;
}

}  // namespace

std::vector<PyMethodDef> operator_functions() { return definitions<false>(); }
std::vector<PyMethodDef> operator_methods() { return definitions<true>(); }

}  // namespace lamella::python
