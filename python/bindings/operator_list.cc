#include "python/bindings/operator_list.h"

#include <array>
#include <cmath>
#include <span>
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
  } else if constexpr (std::is_same_v<D, Dims> || std::is_same_v<D, Cuts>) {
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

/// What is told of an operator, made while compiling: code for each of several hundred takes long to compile.
struct Listed {
  const OpInfo* info;
  /// The types of the parameters, the last of which may be `out`, and that of the result.
  std::span<const char* const> types;
  const char* returns;
  /// The names of the parts of the result, where they have some.
  std::span<const char* const> fields;
  bool may_work_in_place;
  /// Null for one that is not elementwise.
  const ElementwiseOp& (*elementwise)();
};

template <class Op, class F = decltype(&Op::call)>
struct Types;
template <class Op, class R, class... A>
struct Types<Op, R (*)(A...)> {
  static constexpr std::size_t kCount = sizeof...(A) + (takes_out<Op>() ? 1 : 0);
  static constexpr auto kAll = [] {
    std::array<const char*, kCount> all{annotation<A>()...};
    if constexpr (takes_out<Op>()) all.back() = "Tensor | None";
    return all;
  }();
};

template <class Op>
constexpr Listed listed() {
  const char* const several = requires { Op::kGivesList; } ? "list[Tensor]" : "tuple[Tensor, ...]";
  Listed listed{.info = &Op::info,
                .types = Types<Op>::kAll,
                .returns = gives_a_tensor(&Op::call) ? "Tensor" : several,
                .fields = {},
                .may_work_in_place = may_work_in_place<Op>(),
                .elementwise = nullptr};
  if constexpr (requires { Op::kFields; }) listed.fields = Op::kFields;
  if constexpr (IsElementwise<Op>) listed.elementwise = elementwise_op<Op>;
  return listed;
}

constexpr auto kListed = [] {
  std::array<Listed, AllOps::size> all{};
  std::size_t i = 0;
  AllOps::for_each([&]<class Op> { all[i++] = listed<Op>(); });
  return all;
}();

PyRef texts(std::span<const char* const> all) {
  std::vector<PyRef> items;
  for (const char* text : all) items.push_back(text_or_none(text));
  return tuple_of(items);
}

void add_elementwise(const PyRef& dict, const ElementwiseOp& op) {
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
    for (const Listed& op : kListed) {
      const PyRef dict = describe(*op.info);
      set(dict, "types", texts(op.types));
      set(dict, "returns", text_or_none(op.returns));
      set(dict, "fields", texts(op.fields));
      const bool in_place = op.may_work_in_place && !(op.elementwise && op.elementwise().mask_output) &&
                            is_free_in_place(op.info->name, names);
      set(dict, "in_place", PyRef::adopt(PyBool_FromLong(in_place)));
      set(dict, "elementwise", PyRef::share(op.elementwise ? Py_True : Py_False));
      if (op.elementwise) add_elementwise(dict, op.elementwise());
      checked(PyList_Append(list.get(), dict.get()));
    }
    return list.release();
  });
}

}  // namespace lamella::python
