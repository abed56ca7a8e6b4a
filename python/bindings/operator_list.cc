#include "python/bindings/operator_list.h"

#include <array>
#include <cmath>
#include <span>
#include <vector>

#include "python/bindings/containers.h"
#include "python/bindings/definition.h"
#include "python/bindings/errors.h"
#include "python/bindings/py_ref.h"

namespace lamella::python {
namespace {

PyRef text_or_none(const char* text) {
  return text ? PyRef::adopt(checked(PyUnicode_FromString(text))) : PyRef::share(Py_None);
}

void set(const PyRef& dict, const char* key, const PyRef& value) {
  checked(PyDict_SetItemString(dict.get(), key, checked(value.get())));
}

PyRef tuple_of(const std::vector<PyRef>& items) {
  return tuple_from(items, [](const PyRef& item) { return item; });
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

/// Returns a dict {operand: value} of the operator's settings.
PyRef settings_of(const OpInfo& info) {
  PyRef dict = PyRef::adopt(checked(PyDict_New()));
  for (const OpInfo::Setting& setting : info.settings) {
    if (setting.operand < 0) break;
    const PyRef operand = PyRef::adopt(checked(PyLong_FromLong(setting.operand)));
    const PyRef value = PyRef::adopt(checked(PyFloat_FromDouble(setting.sample)));
    checked(PyDict_SetItem(dict.get(), operand.get(), value.get()));
  }
  return dict;
}

PyRef describe(const OpInfo& info) {
  PyRef dict = PyRef::adopt(checked(PyDict_New()));
  set(dict, "name", text_or_none(info.name));
  set(dict, "doc", text_or_none(info.doc));
  set(dict, "example", text_or_none(example_of(info).c_str()));
  set(dict, "reference", text_or_none(info.reference));
  set(dict, "dtypes", dtype_names(info.dtypes));
  set(dict, "sample_low", PyRef::adopt(PyFloat_FromDouble(info.sample_low)));
  set(dict, "sample_high", PyRef::adopt(PyFloat_FromDouble(info.sample_high)));
  set(dict, "kinks", kinks_of(info));
  set(dict, "settings", settings_of(info));
  set(dict, "asks_device", PyRef::adopt(PyBool_FromLong(info.asks_device)));
  set(dict, "method", PyRef::adopt(PyBool_FromLong(info.method)));
  return dict;
}

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
    for (const Definition& op : operator_definitions()) {
      const PyRef dict = describe(*op.info);
      set(dict, "types", texts(op.types));
      set(dict, "returns", text_or_none(op.returns));
      set(dict, "fields", texts(op.fields));
      set(dict, "in_place", PyRef::adopt(PyBool_FromLong(has_in_place_form(op))));
      set(dict, "elementwise", PyRef::share(op.elementwise ? Py_True : Py_False));
      if (op.elementwise) add_elementwise(dict, op.elementwise());
      checked(PyList_Append(list.get(), dict.get()));
    }
    return list.release();
  });
}

}  // namespace lamella::python
