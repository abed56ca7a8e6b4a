#include "python/bindings/guards.h"

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "python/bindings/adapted.h"
#include "python/bindings/errors.h"
#include "python/bindings/gil.h"

namespace lamella::python {
namespace {

/// True if numbers have the same bits: zeros of other signs differ, and a NaN is itself.
bool same_number(double a, double b) { return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b); }

/// Returns a number that changes with each write to a dictionary; 0 for other objects, and where Python has none.
std::uint64_t version_of(PyObject* container) {
#if PY_VERSION_HEX < 0x030C0000
  if (PyDict_CheckExact(container)) return reinterpret_cast<PyDictObject*>(container)->ma_version_tag;
#else
  static_cast<void>(container);  // versions are no part of the interface since 3.12 (PEP 699)
#endif
  return 0;
}

/// Compares objects of one of Python's own types, whose comparison runs no code of the user's.
bool equal(PyObject* a, PyObject* b) { return checked(PyObject_RichCompareBool(a, b, Py_EQ)) != 0; }

}  // namespace

bool is_unchanged(PyObject* value, PyObject* expected) {
  if (value == expected) return true;
  PyTypeObject* const type = Py_TYPE(expected);
  if (!Py_IS_TYPE(value, type)) return false;
  if (type == &PyFloat_Type) return same_number(PyFloat_AS_DOUBLE(value), PyFloat_AS_DOUBLE(expected));
  if (type == &PyComplex_Type) {
    const Py_complex a = PyComplex_AsCComplex(value);
    const Py_complex b = PyComplex_AsCComplex(expected);
    return same_number(a.real, b.real) && same_number(a.imag, b.imag);
  }
  if (type == &PyLong_Type || type == &PyUnicode_Type || type == &PyBytes_Type) return equal(value, expected);
  if (type != &PyTuple_Type || PyTuple_GET_SIZE(value) != PyTuple_GET_SIZE(expected)) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(value); ++i) {
    if (!is_unchanged(PyTuple_GET_ITEM(value, i), PyTuple_GET_ITEM(expected, i))) return false;
  }
  return true;
}

Guards::Guards(PyObject* entries, PyObject* unwatched) : unwatched_(PyRef::share(unwatched)) {
  constexpr std::pair<std::string_view, Guard::Check> kKinds[] = {
      {"dict", check_dict},   {"name", check_name},           {"list", check_list},   {"cell", check_cell},
      {"set", check_set},     {"attribute", check_attribute}, {"bytes", check_bytes}, {"size", check_size},
      {"class", check_class}, {"order", check_order},         {"call", check_call},
  };
  for (PyObject* entry : Adapted<std::vector<PyObject*>>::from(entries)) {
    const auto fields = Adapted<std::vector<PyObject*>>::from(entry);
    if (fields.size() < 3) fail<ValueError>("[guards] an entry has at least three fields, got ", fields.size());
    const std::string kind = Adapted<std::string>::from(fields[0]);
    Guard guard{.check = nullptr,
                .container = PyRef::share(fields[1]),
                .key = PyRef::share(fields.size() > 3 ? fields[2] : nullptr),
                .expected = PyRef::share(fields.back())};
    for (const auto& [name, check] : kKinds) {
      if (name == kind) guard.check = check;
    }
    const bool keyed = kind == "dict" || kind == "name" || kind == "attribute";
    const bool listed = kind == "dict" || kind == "list";
    if (!guard.check || fields.size() != (keyed ? 4U : 3U) || (listed && !PyTuple_Check(fields.back())) ||
        (kind == "dict" && (!PyDict_Check(fields[1]) || !PyTuple_Check(fields[2]) ||
                            PyTuple_GET_SIZE(fields[2]) != PyTuple_GET_SIZE(fields[3]))) ||
        (kind == "list" && !PyList_Check(fields[1])) || (kind == "cell" && !PyCell_Check(fields[1]))) {
      fail<ValueError>("[guards] '", kind, "' does not fit its fields");
    }
    guards_.push_back(std::move(guard));
    watch(fields.back());
  }
}

void Guards::watch(PyObject* value) {
  if (is_tensor(value)) {
    tensors_.push_back({value, as_object(value)->tensor.impl(), guards_.size() - 1});
  } else if (PyTuple_Check(value)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(value); ++i) watch(PyTuple_GET_ITEM(value, i));
  }
}

std::optional<std::size_t> Guards::first_exchanged() {
  const std::uint64_t exchanges = count_exchanges();
  for (const Watched& each : tensors_) {
    if (as_object(each.object)->tensor.impl() != each.tensor) return each.guard;
  }
  exchanges_ = exchanges;
  return std::nullopt;
}

std::optional<std::size_t> Guards::first_change() {
  if (exchanges_ != count_exchanges()) [[unlikely]] {
    if (const auto exchanged = first_exchanged()) return exchanged;
  }
  for (std::size_t i = 0; i < guards_.size(); ++i) {
    Guard& guard = guards_[i];
    const std::uint64_t version = version_of(guard.container.get());
    if (version != 0 && version == guard.version) continue;
    try {
      if (!guard.check(guard, unwatched_.get())) return i;
      guard.version = version;
    } catch (...) {
      // An object of the user's refuses to be looked at: so it is not what it was.
      set_python_error();
      PyErr_Clear();
      return i;
    }
  }
  return std::nullopt;
}

int Guards::traverse(visitproc visit, void* arg) const {
  for (const Guard& guard : guards_) {
    Py_VISIT(guard.container.get());
    Py_VISIT(guard.key.get());
    Py_VISIT(guard.expected.get());
  }
  return 0;
}

bool Guards::check_dict(const Guard& guard, PyObject* unwatched) {
  PyObject* const keys = guard.key.get();
  const ContainerLock lock(guard.container.get());
  if (PyDict_GET_SIZE(guard.container.get()) != PyTuple_GET_SIZE(keys)) return false;
  PyObject *key = nullptr, *value = nullptr;
  Py_ssize_t i = 0;
  for (Py_ssize_t at = 0; PyDict_Next(guard.container.get(), &at, &key, &value); ++i) {
    if (i == PyTuple_GET_SIZE(keys) || !is_unchanged(key, PyTuple_GET_ITEM(keys, i))) return false;
    PyObject* const expected = PyTuple_GET_ITEM(guard.expected.get(), i);
    if (expected != unwatched && !is_unchanged(value, expected)) return false;
  }
  return true;
}

bool Guards::check_name(const Guard& guard, PyObject* unwatched) {
  const PyRef value = PyRef::adopt(PyObject_GetItem(guard.container.get(), guard.key.get()));
  if (value) return guard.expected.get() != unwatched && is_unchanged(value.get(), guard.expected.get());
  if (!PyErr_ExceptionMatches(PyExc_KeyError)) throw_python_error();
  PyErr_Clear();
  return guard.expected.get() == unwatched;
}

bool Guards::check_list(const Guard& guard, PyObject*) {
  PyObject* const list = guard.container.get();
  const ContainerLock lock(list);
  if (PyList_GET_SIZE(list) != PyTuple_GET_SIZE(guard.expected.get())) return false;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i) {
    if (!is_unchanged(PyList_GET_ITEM(list, i), PyTuple_GET_ITEM(guard.expected.get(), i))) return false;
  }
  return true;
}

bool Guards::check_cell(const Guard& guard, PyObject* unwatched) {
  const ContainerLock lock(guard.container.get());
  PyObject* const value = PyCell_GET(guard.container.get());
  if (!value || guard.expected.get() == unwatched) return !value && guard.expected.get() == unwatched;
  return is_unchanged(value, guard.expected.get());
}

bool Guards::check_set(const Guard& guard, PyObject*) { return equal(guard.container.get(), guard.expected.get()); }

bool Guards::check_order(const Guard& guard, PyObject*) {
  const PyRef keys = PyRef::adopt(checked(PySequence_Tuple(guard.container.get())));
  return is_unchanged(keys.get(), guard.expected.get());
}

bool Guards::check_call(const Guard& guard, PyObject*) {
  return is_unchanged(PyRef::adopt(checked(PyObject_CallNoArgs(guard.container.get()))).get(), guard.expected.get());
}

bool Guards::check_size(const Guard& guard, PyObject*) {
  const Py_ssize_t size = PyObject_Size(guard.container.get());
  if (size < 0) throw_python_error();
  return size == Adapted<std::int64_t>::from(guard.expected.get());
}

bool Guards::check_class(const Guard& guard, PyObject*) {
  return reinterpret_cast<PyObject*>(Py_TYPE(guard.container.get())) == guard.expected.get();
}

bool Guards::check_attribute(const Guard& guard, PyObject* unwatched) {
  const PyRef value = PyRef::adopt(PyObject_GetAttr(guard.container.get(), guard.key.get()));
  if (value) return guard.expected.get() != unwatched && is_unchanged(value.get(), guard.expected.get());
  if (!PyErr_ExceptionMatches(PyExc_AttributeError)) throw_python_error();
  PyErr_Clear();
  return guard.expected.get() == unwatched;
}

bool Guards::check_bytes(const Guard& guard, PyObject*) {
  const PyRef bytes = PyRef::adopt(checked(PyBytes_FromObject(guard.container.get())));
  return equal(bytes.get(), guard.expected.get());
}

}  // namespace lamella::python
