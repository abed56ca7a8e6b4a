#include "python/bindings/operator_list.h"

#include <cmath>
#include <type_traits>
#include <vector>

#include "ops/all_ops.h"
#include "python/bindings/errors.h"
#include "python/bindings/py_ref.h"
#include "python/bindings/result_forms.h"

namespace lamella::python {
namespace {

PyRef text_or_none(const char* text) {
  return text ? PyRef::adopt(checked(PyUnicode_FromString(text))) : PyRef::share(Py_None);
}

void set(const PyRef& dict, const char* key, const PyRef& value) {
  checked(PyDict_SetItemString(dict.get(), key, checked(value.get())));
}

PyRef tuple_of(const std::vector<PyRef>& items) {
  PyRef tuple = PyRef::adopt(checked(PyTuple_New(static_cast<Py_ssize_t>(items.size()))));
  for (std::size_t i = 0; i < items.size(); ++i) {
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), PyRef(items[i]).release());
  }
  return tuple;
}

PyRef dtype_names(DTypeSet dtypes) {
  std::vector<PyRef> names;
  for (std::size_t i = 0; i < kDTypeCount; ++i) {
    if (dtypes.contains(static_cast<DType>(i))) names.push_back(text_or_none(kDTypeNames[i].data()));
  }
  return tuple_of(names);
}

PyRef kinks_of(const OpInfo& info) {
  std::vector<PyRef> points;
  for (const double point : info.kinks) {
    if (std::isnan(point)) break;
    points.push_back(PyRef::adopt(checked(PyFloat_FromDouble(point))));
  }
  return tuple_of(points);
}

PyRef describe(const OpInfo& info) {
  PyRef dict = PyRef::adopt(checked(PyDict_New()));
  set(dict, "name", text_or_none(info.name));
  set(dict, "doc", text_or_none(info.doc));
  set(dict, "example", text_or_none(info.example));
  set(dict, "reference", text_or_none(info.reference));
  set(dict, "dtypes", dtype_names(info.dtypes));
  set(dict, "sample_low", PyRef::adopt(PyFloat_FromDouble(info.sample_low)));
  set(dict, "sample_high", PyRef::adopt(PyFloat_FromDouble(info.sample_high)));
  set(dict, "kinks", kinks_of(info));
  set(dict, "method", PyRef::adopt(PyBool_FromLong(info.method)));
  return dict;
}

/// The Python type of a parameter or result of an operator, as a stub file spells it.
template <class T>
constexpr const char* annotation() {
  using D = std::remove_cvref_t<T>;
  if constexpr (std::is_same_v<D, Tensor>) {
    return "Tensor";
  } else if constexpr (std::is_same_v<D, Operand>) {
    return "Tensor | _complex";
  } else if constexpr (std::is_same_v<D, std::optional<Operand>>) {
    return "Tensor | _complex | None";
  } else if constexpr (std::is_same_v<D, std::optional<Tensor>>) {
    return "Tensor | None";
  } else if constexpr (std::is_same_v<D, Dims>) {
    return "SupportsIndex | Sequence[SupportsIndex]";
  } else if constexpr (std::is_same_v<D, Padding>) {
    return "str | SupportsIndex | Sequence[SupportsIndex]";
  } else if constexpr (std::is_same_v<D, OutputSize>) {
    return "SupportsIndex | Sequence[SupportsIndex | None]";
  } else if constexpr (std::is_same_v<D, std::optional<Dims>>) {
    return "SupportsIndex | Sequence[SupportsIndex] | None";
  } else if constexpr (std::is_same_v<D, std::int64_t> || std::is_same_v<D, DiagonalNumber>) {
    return "SupportsIndex";
  } else if constexpr (std::is_same_v<D, std::optional<std::int64_t>>) {
    return "SupportsIndex | None";
  } else if constexpr (std::is_same_v<D, DType>) {
    return "_DTypeLike";
  } else if constexpr (std::is_same_v<D, std::optional<DType>>) {
    return "_DTypeLike | None";
  } else if constexpr (std::is_same_v<D, std::optional<Device>>) {
    return "str | None";
  } else if constexpr (std::is_same_v<D, Generator*>) {
    return "Generator | None";
  } else if constexpr (std::is_same_v<D, bool>) {
    return "bool";
  } else if constexpr (std::is_same_v<D, std::optional<bool>>) {
    return "_bool | None";
  } else if constexpr (std::is_same_v<D, std::optional<Scalar>>) {
    return "_complex | None";
  } else if constexpr (std::is_same_v<D, Scalar>) {
    return "_complex";
  } else if constexpr (std::is_same_v<D, std::optional<double>>) {
    return "float | None";
  } else if constexpr (std::is_same_v<D, double>) {
    return "float";
  } else if constexpr (std::is_same_v<D, std::optional<std::vector<double>>>) {
    return "float | Sequence[float] | None";
  } else if constexpr (std::is_same_v<D, std::vector<HeldOperand>>) {
    return "Tensor | _complex | Sequence[Tensor | _complex]";
  } else if constexpr (std::is_same_v<D, std::optional<std::vector<HeldOperand>>>) {
    return "Tensor | _complex | Sequence[Tensor | _complex] | None";
  } else if constexpr (std::is_same_v<D, std::string_view>) {
    return "str";
  } else if constexpr (std::is_same_v<D, std::optional<std::pair<double, double>>>) {
    return "tuple[float, float] | None";
  } else {
    static_assert(std::is_same_v<typename D::value_type, Tensor>);
    return "Sequence[Tensor]";
  }
}

template <class R, class... A>
std::vector<PyRef> parameter_types(R (*)(A...)) {
  return {text_or_none(annotation<A>())...};
}

/// The types of the parameters, and that of the result.
template <class Op>
void add_types(const PyRef& dict) {
  std::vector<PyRef> types = parameter_types(&Op::call);
  if (takes_out<Op>()) types.push_back(text_or_none("Tensor | None"));
  set(dict, "types", tuple_of(types));
  const char* const several = requires { Op::kGivesList; } ? "list[Tensor]" : "tuple[Tensor, ...]";
  set(dict, "returns", text_or_none(gives_a_tensor(&Op::call) ? "Tensor" : several));
}

/// The names of the parts of the result, where they have some.
template <class Op>
void add_fields(const PyRef& dict) {
  std::vector<PyRef> fields;
  if constexpr (requires { Op::kFields; }) {
    for (const char* field : Op::kFields) fields.push_back(text_or_none(field));
  }
  set(dict, "fields", tuple_of(fields));
}

template <class Op>
void add_elementwise(const PyRef& dict) {
  const ElementwiseOp& op = elementwise_op<Op>();
  std::vector<PyRef> differentiable;
  for (int i = 0; i < op.inputs; ++i) {
    differentiable.push_back(PyRef::adopt(checked(PyBool_FromLong(op.reads[static_cast<std::size_t>(i)] != 0))));
  }
  set(dict, "inputs", PyRef::adopt(PyLong_FromLong(op.inputs)));
  set(dict, "mask_input", PyRef::adopt(PyBool_FromLong(op.mask_input)));
  set(dict, "differentiable", tuple_of(differentiable));
}

}  // namespace

PyObject* operator_list(PyObject*, PyObject*) {
  return guarded([&]() -> PyObject* {
    PyRef list = PyRef::adopt(checked(PyList_New(0)));
    const std::vector<const char*> names = operator_names();
    AllOps::for_each([&]<class Op> {
      const PyRef dict = describe(Op::info);
      add_types<Op>(dict);
      add_fields<Op>(dict);
      set(dict, "in_place", PyRef::adopt(PyBool_FromLong(works_in_place<Op>(names))));
      constexpr bool kElementwise = requires { Op::kMaskInput; };
      set(dict, "elementwise", PyRef::share(kElementwise ? Py_True : Py_False));
      if constexpr (kElementwise) add_elementwise<Op>(dict);
      checked(PyList_Append(list.get(), dict.get()));
    });
    return list.release();
  });
}

}  // namespace lamella::python
