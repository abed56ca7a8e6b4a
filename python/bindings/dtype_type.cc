#include "python/bindings/dtype_type.h"

#include <array>
#include <optional>
#include <string>

#include "python/bindings/errors.h"
#include "python/bindings/method.h"
#include "python/bindings/numpy.h"
#include "python/bindings/py_ref.h"

namespace lamella::python {
namespace {

struct DTypeObject {
  PyObject_HEAD DType dtype;
};

PyTypeObject* dtype_type = nullptr;
std::array<PyObject*, kDTypeCount> objects{};

DType value(PyObject* self) { return reinterpret_cast<DTypeObject*>(self)->dtype; }

std::optional<DType> by_name(std::string_view text) {
  for (std::size_t i = 0; i < kDTypeCount; ++i) {
    if (kDTypeNames[i] == text) return static_cast<DType>(i);
  }
  return std::nullopt;
}

PyObject* repr(PyObject* self) { return PyUnicode_FromFormat("lamella.%s", std::string(name(value(self))).c_str()); }

PyObject* text(PyObject* self) { return PyUnicode_FromString(std::string(name(value(self))).c_str()); }

PyObject* get_name(PyObject* self, void*) { return text(self); }

PyObject* get_itemsize(PyObject* self, void*) { return PyLong_FromSize_t(item_size(value(self))); }

PyObject* reduce(PyObject* self, PyObject*) { return Py_BuildValue("O(N)", dtype_type, text(self)); }

PyObject* copy(PyObject* self, PyObject*) { return Py_NewRef(self); }

PyObject* create(PyTypeObject*, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    PyObject* source = nullptr;
    if (kwargs && PyDict_GET_SIZE(kwargs)) fail<TypeError>("[DType] takes no keyword arguments");
    if (!PyArg_ParseTuple(args, "O:DType", &source)) return nullptr;
    DType dtype{};
    if (!as_dtype(source, dtype)) fail<TypeError>("[DType] expected the name of a dtype, got ", type_name(source));
    return dtype_object(dtype);
  });
}

PyGetSetDef attributes[] = {
    {"name", get_name, nullptr, "The name, such as 'float32'.", nullptr},
    {"itemsize", get_itemsize, nullptr, "Bytes of one element.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyMethodDef methods[] = {
    {"__reduce__", reduce, METH_NOARGS, nullptr},
    {"__copy__", copy, METH_NOARGS, nullptr},
    {"__deepcopy__", copy, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

PyTypeObject* make_dtype_type() {
  static PyType_Slot slots[] = {
      {Py_tp_new, reinterpret_cast<void*>(create)},
      {Py_tp_repr, reinterpret_cast<void*>(repr)},
      {Py_tp_str, reinterpret_cast<void*>(text)},
      {Py_tp_getset, attributes},
      {Py_tp_methods, methods},
      {Py_tp_doc,
       const_cast<char*>("DType(name)\n--\n\nThe type of a tensor's elements. There is one object for each.")},
      {0, nullptr},
  };
  dtype_type = new_type<DTypeObject>("lamella.DType", slots);
  for (std::size_t i = 0; i < kDTypeCount; ++i) {
    auto* object = checked(PyObject_New(DTypeObject, dtype_type));
    object->dtype = static_cast<DType>(i);
    objects[i] = reinterpret_cast<PyObject*>(object);
  }
  return dtype_type;
}

PyObject* dtype_object(DType dtype) noexcept { return Py_NewRef(objects[static_cast<std::size_t>(dtype)]); }

bool as_dtype(PyObject* object, DType& dtype) {
  if (Py_IS_TYPE(object, dtype_type)) {
    dtype = value(object);
    return true;
  }
  std::optional<DType> found;
  if (PyUnicode_Check(object)) {
    found = by_name(checked(PyUnicode_AsUTF8(object)));
  } else if (object == reinterpret_cast<PyObject*>(&PyBool_Type)) {
    found = DType::Bool;
  } else if (object == reinterpret_cast<PyObject*>(&PyLong_Type)) {
    found = DType::Int64;
  } else if (object == reinterpret_cast<PyObject*>(&PyFloat_Type)) {
    found = DType::Float32;
  } else if (object == reinterpret_cast<PyObject*>(&PyComplex_Type)) {
    found = DType::Complex64;
  } else if (const PyRef name = numpy_dtype_name(object)) {
    found = by_name(checked(PyUnicode_AsUTF8(name.get())));
  }
  if (!found) return false;
  dtype = *found;
  return true;
}

}  // namespace lamella::python
