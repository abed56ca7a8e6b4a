#include "python/bindings/profile.h"

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "engine/autograd/trace/profile.h"
#include "python/bindings/adapted.h"
#include "python/bindings/capture.h"
#include "python/bindings/containers.h"
#include "python/bindings/errors.h"
#include "python/bindings/tensor_object.h"

namespace lamella::python {
namespace {

using autograd::Profile;
using autograd::ProfileEvent;
using autograd::ProfileSpan;

/// Tables of functions that a type points to.
template <class Table>
Table* table_of(PyTypeObject* type) {
  if constexpr (std::is_same_v<Table, PyNumberMethods>) {
    return type->tp_as_number;
  } else if constexpr (std::is_same_v<Table, PyMappingMethods>) {
    return type->tp_as_mapping;
  } else {
    return type;
  }
}

/// A slot of the tensor type, by the member of the table that holds it, and the function that measures in its place.
template <auto kMember>
struct MeasuredSlot;

template <class Table, class Result, class... Args, Result (*Table::*kMember)(Args...)>
struct MeasuredSlot<kMember> {
  using Function = Result (*)(Args...);
  static inline Function original = nullptr;
  static inline const char* name = nullptr;

  static Result measured(Args... args) {
    const ProfileSpan span(ProfileEvent::Kind::Operator, name);
    return original(args...);
  }
  /// Puts one function in the place of the other, in a type and those that have inherited it.
  static void exchange(PyTypeObject* type, Function from, Function to) {
    Table* const table = table_of<Table>(type);
    if (!table || table->*kMember != from) return;
    table->*kMember = to;
    PyType_Modified(type);
    const PyRef subtypes =
        PyRef::adopt(PyObject_CallMethod(reinterpret_cast<PyObject*>(type), "__subclasses__", nullptr));
    if (!subtypes) return PyErr_Clear();
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(subtypes.get()); ++i)
      exchange(reinterpret_cast<PyTypeObject*>(PyList_GET_ITEM(subtypes.get(), i)), from, to);
  }
  static void remember(const char* of) {
    name = of;
    original = table_of<Table>(tensor_type)->*kMember;
  }
  static void set(bool measuring) {
    exchange(tensor_type, measuring ? original : measured, measuring ? measured : original);
  }
};

/// Calls f.operator()<Slot>(name) for each slot that is measured.
template <class F>
void for_each_slot(F&& f) {
  using N = PyNumberMethods;
  f.template operator()<MeasuredSlot<&N::nb_add>>("add");
  f.template operator()<MeasuredSlot<&N::nb_subtract>>("subtract");
  f.template operator()<MeasuredSlot<&N::nb_multiply>>("multiply");
  f.template operator()<MeasuredSlot<&N::nb_true_divide>>("divide");
  f.template operator()<MeasuredSlot<&N::nb_floor_divide>>("floor_divide");
  f.template operator()<MeasuredSlot<&N::nb_remainder>>("remainder");
  f.template operator()<MeasuredSlot<&N::nb_power>>("pow");
  f.template operator()<MeasuredSlot<&N::nb_matrix_multiply>>("matmul");
  f.template operator()<MeasuredSlot<&N::nb_and>>("bitwise_and");
  f.template operator()<MeasuredSlot<&N::nb_or>>("bitwise_or");
  f.template operator()<MeasuredSlot<&N::nb_xor>>("bitwise_xor");
  f.template operator()<MeasuredSlot<&N::nb_lshift>>("bitwise_left_shift");
  f.template operator()<MeasuredSlot<&N::nb_rshift>>("bitwise_right_shift");
  f.template operator()<MeasuredSlot<&N::nb_negative>>("negative");
  f.template operator()<MeasuredSlot<&N::nb_absolute>>("abs");
  f.template operator()<MeasuredSlot<&N::nb_invert>>("bitwise_invert");
  f.template operator()<MeasuredSlot<&N::nb_inplace_add>>("add_");
  f.template operator()<MeasuredSlot<&N::nb_inplace_subtract>>("sub_");
  f.template operator()<MeasuredSlot<&N::nb_inplace_multiply>>("mul_");
  f.template operator()<MeasuredSlot<&N::nb_inplace_true_divide>>("div_");
  f.template operator()<MeasuredSlot<&PyTypeObject::tp_richcompare>>("compare");
  f.template operator()<MeasuredSlot<&PyMappingMethods::mp_subscript>>("index");
  f.template operator()<MeasuredSlot<&PyMappingMethods::mp_ass_subscript>>("set_index");
}

void exchange_slots(bool measuring) {
  for_each_slot([&]<class Slot>(const char*) { Slot::set(measuring); });
}

/// Number of threads that are profiled.
int profiled_threads = 0;

void change_profiled_threads(int change) {
  const int before = std::exchange(profiled_threads, profiled_threads + change);
  watch_calls(change);
  if ((before == 0) != (profiled_threads == 0)) exchange_slots(before == 0);
}

/// Paths of the modules of the model that this thread profiles, by their addresses as Python's numbers; null if none.
thread_local constinit PyObject* layer_paths = nullptr;

PyObject* start_profile(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject* with_lines = nullptr;
    PyObject* paths = nullptr;
    if (!PyArg_ParseTuple(args, "OO!", &with_lines, &PyDict_Type, &paths)) return nullptr;
    if (autograd::active_profile()) fail<RuntimeError>("[profiler] this thread is profiled already");
    auto profile = std::make_unique<Profile>(Adapted<bool>::from(with_lines));
    change_profiled_threads(1);
    autograd::exchange_profile(profile.release());
    layer_paths = Py_NewRef(paths);
    Py_RETURN_NONE;
  });
}

PyRef text_of(std::string_view text) {
  return PyRef::adopt(
      checked(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace")));
}

PyRef described(const ProfileEvent& event) {
  return PyRef::adopt(checked(
      Py_BuildValue("(iiIILLKKL)", static_cast<int>(event.kind), static_cast<int>(event.depth), event.name, event.line,
                    static_cast<long long>(event.begin), static_cast<long long>(event.end),
                    static_cast<unsigned long long>(event.first_node), static_cast<unsigned long long>(event.last_node),
                    static_cast<long long>(event.allocated))));
}

PyObject* stop_profile(PyObject*, PyObject*) {
  return guarded([&]() -> PyObject* {
    if (!autograd::active_profile()) fail<RuntimeError>("[profiler] this thread is not profiled");
    const std::unique_ptr<Profile> profile(autograd::exchange_profile(nullptr));
    change_profiled_threads(-1);
    Py_CLEAR(layer_paths);
    const PyRef events =
        list_from(profile->events(), [](const ProfileEvent& event) { return described(event).release(); });
    const PyRef names = list_from(profile->names(), [](const std::string& name) { return text_of(name).release(); });
    const PyRef lines = list_from(profile->lines(), [](const SourceLine& line) {
      return checked(Py_BuildValue("(Ni)", text_of(line.file ? line.file : "").release(), line.line));
    });
    return checked(PyTuple_Pack(3, events.get(), names.get(), lines.get()));
  });
}

PyObject* enter_scope(PyObject*, PyObject* name) {
  return guarded([&]() -> PyObject* {
    Profile* const profile = autograd::active_profile();
    if (!profile) return PyLong_FromLong(-1);
    Py_ssize_t size = 0;
    const char* const text = checked(PyUnicode_AsUTF8AndSize(name, &size));
    return PyLong_FromSize_t(profile->start(ProfileEvent::Kind::Scope, {text, static_cast<std::size_t>(size)}, 0));
  });
}

PyObject* leave_scope(PyObject*, PyObject* event) {
  return guarded([&]() -> PyObject* {
    Profile* const profile = autograd::active_profile();
    const auto at = Adapted<std::int64_t>::from(event);
    // The scope may have begun before the profile, or in one that has ended.
    if (profile && at >= 0 && static_cast<std::size_t>(at) < profile->events().size() &&
        profile->events()[static_cast<std::size_t>(at)].end == 0) {
      profile->finish(static_cast<std::size_t>(at));
    }
    Py_RETURN_NONE;
  });
}

PyMethodDef profile_method_defs[] = {
    {"_start_profile", start_profile, METH_VARARGS, nullptr},
    {"_stop_profile", stop_profile, METH_NOARGS, nullptr},
    {"_enter_profiled_scope", enter_scope, METH_O, nullptr},
    {"_leave_profiled_scope", leave_scope, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

std::string_view name_of_layer(PyObject* layer) {
  const PyRef address = PyRef::adopt(PyLong_FromVoidPtr(layer));
  PyObject* const path = address && layer_paths ? PyDict_GetItemWithError(layer_paths, address.get()) : nullptr;
  Py_ssize_t size = 0;
  const char* const text = path ? PyUnicode_AsUTF8AndSize(path, &size) : nullptr;
  PyErr_Clear();
  return text ? std::string_view(text, static_cast<std::size_t>(size)) : Py_TYPE(layer)->tp_name;
}

PyMethodDef* profile_functions() {
  for_each_slot([]<class Slot>(const char* name) { Slot::remember(name); });
  return profile_method_defs;
}

}  // namespace lamella::python
