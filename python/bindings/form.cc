#include "python/bindings/form.h"

#include <algorithm>
#include <string>

#include "python/bindings/errors.h"
#include "python/bindings/tensor_object.h"

namespace lamella::python {
namespace {

[[noreturn]] void wrong_form(const std::string& who, const std::string& what, const std::string& expected,
                             PyObject* got) {
  fail<ValueError>("[", who, "] backward must return, for ", what, ", ", expected, ", got ", type_name(got));
}

void read_sequence(const Form& form, PyObject* gradient, const std::string& who, const std::string& what,
                   TensorList& tensors) {
  if (!PyList_Check(gradient) && !PyTuple_Check(gradient)) {
    wrong_form(who, what, "a list or tuple of gradients like the argument", gradient);
  }
  const auto size = static_cast<std::size_t>(PySequence_Fast_GET_SIZE(gradient));
  const auto holding = static_cast<std::size_t>(std::ranges::count_if(form.parts, &Form::holds_tensors));
  const bool by_part = size == form.parts.size();
  if (!by_part && size != holding) {
    fail<ValueError>("[", who, "] backward must return, for ", what, ", a gradient of the argument's form, with ",
                     form.parts.size(), " items, got ", size);
  }
  std::size_t at = 0;
  for (std::size_t i = 0; i < form.parts.size(); ++i) {
    if (!by_part && !form.parts[i].holds_tensors()) continue;
    const PyRef item = PyRef::share(PySequence_Fast_GET_ITEM(gradient, static_cast<Py_ssize_t>(at++)));
    read_gradient(form.parts[i], item.get(), who, what + "[" + std::to_string(i) + "]", tensors);
  }
}

void read_named(const Form& form, PyObject* gradient, const std::string& who, const std::string& what,
                TensorList& tensors) {
  const bool mapping = PyDict_Check(gradient);
  if (!mapping && !dataclass_fields(gradient)) wrong_form(who, what, "a dict of gradients like the argument", gradient);
  Py_ssize_t found = 0;
  for (std::size_t i = 0; i < form.parts.size(); ++i) {
    PyObject* const key = form.keys[i].get();
    const PyRef item =
        mapping ? PyRef::share(PyDict_GetItemWithError(gradient, key)) : PyRef::adopt(PyObject_GetAttr(gradient, key));
    if (!item && PyErr_Occurred()) {
      if (mapping) throw_python_error();
      PyErr_Clear();
    }
    if (item) ++found;
    const PyRef text = PyRef::adopt(checked(PyObject_Repr(key)));
    const std::string part = what + "[" + checked(PyUnicode_AsUTF8(text.get())) + "]";
    read_gradient(form.parts[i], item ? item.get() : Py_None, who, part, tensors);
  }
  if (mapping && found != PyDict_GET_SIZE(gradient)) {
    fail<ValueError>("[", who, "] backward returned, for ", what,
                     ", gradients under keys that the argument does not have");
  }
}

}  // namespace

RecursionGuard::RecursionGuard() {
  if (Py_EnterRecursiveCall(" while looking for tensors in a container")) throw_python_error();
}

bool Form::holds_tensors() const { return kind == Kind::Tensor || std::ranges::any_of(parts, &Form::holds_tensors); }

PyRef dataclass_fields(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE)) return {};
  static PyObject* const name = checked(PyUnicode_InternFromString("__dataclass_fields__"));
  PyRef fields = find_in_type(type, name);
  return fields && PyDict_Check(fields.get()) ? fields : PyRef();
}

bool is_container(PyObject* object) noexcept {
  constexpr unsigned long kBuiltin = Py_TPFLAGS_LIST_SUBCLASS | Py_TPFLAGS_TUPLE_SUBCLASS | Py_TPFLAGS_DICT_SUBCLASS;
  PyTypeObject* type = Py_TYPE(object);
  if (type->tp_flags & kBuiltin) return true;
  return (type->tp_flags & Py_TPFLAGS_HEAPTYPE) && dataclass_fields(object);
}

void TensorFinder::find(PyObject* value, Form* form) {
  if (is_tensor(value)) {
    tensor_of(value);  // raises if the tensor was never initialized
    objects.push_back(PyRef::share(value));
    if (form) form->kind = Form::Kind::Tensor;
  } else if (is_container(value)) {
    const RecursionGuard guard;
    find_parts(value, form);
  }
}

void TensorFinder::find_parts(PyObject* value, Form* form) {
  const Form::Kind kind = for_each_part(value, [&](PyObject* part, PyObject* key, const PyRef&) {
    const PyRef held = PyRef::share(part);  // reading a dataclass's fields may run Python code that drops the part
    Form* below = nullptr;
    if (form) {
      below = &form->parts.emplace_back();
      if (key) form->keys.push_back(PyRef::share(key));
    }
    find(part, below);
  });
  if (form) form->kind = kind;
}

PyRef build_tangents(const Form& form, Tensor*& next) {
  switch (form.kind) {
    case Form::Kind::Tensor:
      return PyRef::adopt(checked(wrap(*next++)));
    case Form::Kind::Sequence: {
      PyRef list = PyRef::adopt(checked(PyList_New(0)));
      for (const Form& part : form.parts) {
        if (PyList_Append(list.get(), build_tangents(part, next).get()) < 0) throw_python_error();
      }
      return list;
    }
    case Form::Kind::Mapping:
    case Form::Kind::Record: {
      PyRef dict = PyRef::adopt(checked(PyDict_New()));
      for (std::size_t i = 0; i < form.parts.size(); ++i) {
        if (PyDict_SetItem(dict.get(), form.keys[i].get(), build_tangents(form.parts[i], next).get()) < 0)
          throw_python_error();
      }
      return dict;
    }
    default:
      return PyRef::share(Py_None);
  }
}

void read_gradient(const Form& form, PyObject* gradient, const std::string& who, const std::string& what,
                   TensorList& tensors) {
  if (is_tensor(gradient)) {
    if (form.kind == Form::Kind::Other) {
      fail<ValueError>("[", who, "] backward returned a gradient for ", what, ", which is not a tensor");
    }
    if (form.kind != Form::Kind::Tensor) wrong_form(who, what, "a gradient of the argument's form", gradient);
    tensors.push_back(tensor_of(gradient));
    return;
  }
  if (gradient == Py_None) {
    if (form.kind == Form::Kind::Tensor) tensors.emplace_back();
    for (const Form& part : form.parts) read_gradient(part, gradient, who, what, tensors);
    return;
  }
  const RecursionGuard guard;
  switch (form.kind) {
    case Form::Kind::Sequence:
      read_sequence(form, gradient, who, what, tensors);
      return;
    case Form::Kind::Mapping:
    case Form::Kind::Record:
      read_named(form, gradient, who, what, tensors);
      return;
    default:
      fail<TypeError>("[", who, "] backward returned ", type_name(gradient), " for ", what,
                      ": expected a Tensor or None");
  }
}

}  // namespace lamella::python
