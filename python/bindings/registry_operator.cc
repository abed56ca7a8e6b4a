#include "python/bindings/registry_operator.h"

#include <structmember.h>

#include <array>
#include <atomic>
#include <string>
#include <vector>

#include "engine/autograd/trace/profile.h"
#include "engine/core/host.h"
#include "engine/registry/dispatcher.h"
#include "engine/registry/entry.h"
#include "python/bindings/capture.h"
#include "python/bindings/containers.h"
#include "python/bindings/errors.h"
#include "python/bindings/method.h"
#include "python/bindings/named_result.h"
#include "python/bindings/registry_values.h"
#include "python/bindings/tensor_object.h"

namespace lamella::python {
namespace {

using registry::Arg;
using registry::Plan;
using registry::Type;
using registry::Value;

constexpr std::size_t kInlineArguments = 12;
constexpr std::size_t kInlineResults = 4;

/// Schema of an operator, prepared for calls from Python. It lives as long as the process, as the plan that it was made
/// from does.
struct Binding {
  explicit Binding(const Plan& plan, std::string op) : plan(plan), op(std::move(op)) {
    for (const Schema::Argument& argument : plan.schema.arguments) {
      keys.push_back(checked(PyUnicode_InternFromString(argument.name.c_str())));
      defaults.push_back(argument.default_value ? argument.default_value->view() : Arg());
      if (!argument.keyword_only) ++positional;
    }
    const auto& results = plan.schema.results;
    bool named = results.size() > 1;
    std::vector<const char*> names;
    for (const Schema::Result& result : results) {
      named &= !result.name.empty() && result.type == Type{.base = Type::Base::Tensor};
      names.push_back(result.name.c_str());
    }
    if (named) result_type = named_result_type(plan.schema.name.c_str() + plan.schema.name.find("::") + 2, names);
  }

  const Plan& plan;
  const std::string op;
  std::vector<PyObject*> keys;
  std::vector<Arg> defaults;
  std::size_t positional = 0;
  PyTypeObject* result_type = nullptr;
};

struct OperatorObject {
  PyObject_HEAD vectorcallfunc call;
  registry::OperatorEntry* entry;
  /// Null until the first call; replaced if the operator is defined anew.
  std::atomic<const Binding*> binding;
  /// True if other overloads are tried when the arguments do not fit this one.
  bool packet;
  /// Value of registry::generation() when it was last seen that the operator has no other overloads.
  std::atomic<std::uint64_t> alone;
};

PyTypeObject* operator_type = nullptr;

OperatorObject* as_operator(PyObject* object) { return reinterpret_cast<OperatorObject*>(object); }
OperatorHandle handle_of(PyObject* object) { return OperatorHandle(as_operator(object)->entry); }

[[gnu::cold, gnu::noinline]] const Binding& make_binding(OperatorObject* object) {
  const OperatorHandle handle(object->entry);
  handle.schema();  // raises if the operator is gone
  const auto* binding = new Binding(*object->entry->plan.load(std::memory_order_acquire), object->entry->full_name);
  object->binding.store(binding, std::memory_order_release);
  return *binding;
}

inline const Binding& binding_of(OperatorObject* object) {
  const Binding* const binding = object->binding.load(std::memory_order_acquire);
  if (!binding || &binding->plan != object->entry->plan.load(std::memory_order_acquire)) [[unlikely]]
    return make_binding(object);
  return *binding;
}

[[noreturn, gnu::cold]] void fail_missing(const Binding& binding, std::size_t i) {
  fail<TypeError>("[", binding.op, "] missing argument '", binding.plan.schema.arguments[i].name,
                  "': ", binding.plan.schema.str());
}

[[noreturn, gnu::cold]] void fail_too_many(const Binding& binding, std::size_t given) {
  fail<TypeError>("[", binding.op, "] takes ", binding.positional, " positional arguments, ", given,
                  " were given: ", binding.plan.schema.str());
}

std::size_t find_key(const Binding& binding, PyObject* key) {
  for (std::size_t i = 0; i < binding.keys.size(); ++i) {
    if (binding.keys[i] == key) return i;
  }
  for (std::size_t i = 0; i < binding.keys.size(); ++i) {
    if (PyUnicode_Compare(binding.keys[i], key) == 0) return i;
  }
  fail<TypeError>("[", binding.op, "] got an unexpected argument '", checked(PyUnicode_AsUTF8(key)),
                  "': ", binding.plan.schema.str());
}

/// Reads the arguments of a call into `views`, in the schema's order.
void read_arguments(const Binding& binding, PyObject* const* args, std::size_t count, PyObject* keywords, Arg* views,
                    CallStorage& storage) {
  const auto& arguments = binding.plan.schema.arguments;
  if (count > binding.positional) [[unlikely]]
    fail_too_many(binding, count);
  for (std::size_t i = 0; i < count; ++i) {
    views[i] = read_value(args[i], arguments[i].type, {binding.op, arguments[i].name}, storage);
  }
  if (!keywords) {
    for (std::size_t i = count; i < arguments.size(); ++i) {
      if (!arguments[i].default_value) [[unlikely]]
        fail_missing(binding, i);
      views[i] = binding.defaults[i];
    }
    return;
  }
  SmallVector<PyObject*, kInlineArguments> given(arguments.size(), nullptr);
  const auto named = static_cast<std::size_t>(PyTuple_GET_SIZE(keywords));
  for (std::size_t k = 0; k < named; ++k) {
    const std::size_t i = find_key(binding, PyTuple_GET_ITEM(keywords, static_cast<Py_ssize_t>(k)));
    if (i < count || given[i]) fail<TypeError>("[", binding.op, "] got two values for '", arguments[i].name, "'");
    given[i] = args[count + k];
  }
  for (std::size_t i = count; i < arguments.size(); ++i) {
    if (given[i]) {
      views[i] = read_value(given[i], arguments[i].type, {binding.op, arguments[i].name}, storage);
    } else if (arguments[i].default_value) {
      views[i] = binding.defaults[i];
    } else {
      fail_missing(binding, i);
    }
  }
}

PyObject* results_to_python(const Binding& binding, std::span<Value> results) {
  if (results.size() == 1) [[likely]]
    return value_to_python(std::move(results[0])).release();
  if (results.empty()) return Py_NewRef(Py_None);
  if (binding.result_type) {
    std::vector<Tensor> tensors;
    for (Value& result : results) tensors.push_back(result.take_tensor());
    return named_result(binding.result_type, std::move(tensors));
  }
  return tuple_from(results, [](Value& result) { return value_to_python(std::move(result)); }).release();
}

/// Number of elements in the call's tensors.
std::int64_t work_of(const Binding& binding, const Arg* views) {
  std::int64_t elements = 0;
  for (const std::uint8_t i : binding.plan.tensor_arguments) {
    for (const Tensor& x : views[i].tensor_span()) {
      if (x.defined()) elements += x.numel();
    }
  }
  return elements;
}

/// Puts the operator's name before the message of a kernel's exception that does not contain it.
[[gnu::cold, gnu::noinline]] void name_operator(const std::string& op) {
  const PythonError error;
  const PyRef args = PyRef::adopt(PyObject_GetAttrString(error.value(), "args"));
  if (args && PyTuple_Check(args.get()) && PyTuple_GET_SIZE(args.get()) == 1) {
    PyObject* const text = PyTuple_GET_ITEM(args.get(), 0);
    const char* const message = PyUnicode_Check(text) ? PyUnicode_AsUTF8(text) : nullptr;
    if (message && std::string_view(message).find(op) == std::string_view::npos) {
      const std::string whole = "[" + op + "] " + message;
      const PyRef renamed = PyRef::adopt(Py_BuildValue("(s)", whole.c_str()));
      if (renamed) PyObject_SetAttrString(error.value(), "args", renamed.get());
    }
  }
  PyErr_Clear();
  error.restore();
}

PyObject* run(OperatorObject* object, const Binding& binding, const Arg* views) {
  const std::size_t count = binding.plan.schema.results.size();
  std::array<Value, kInlineResults> few;
  std::vector<Value> many(count > kInlineResults ? count : 0);
  const std::span<Value> results(count > kInlineResults ? many.data() : few.data(), count);
  try {
    const HostRelease release(work_of(binding, views));
    OperatorHandle(object->entry).call(views, results.data());
  } catch (const PythonError& error) {
    error.restore();
    return nullptr;
  } catch (...) {
    set_python_error();
    name_operator(binding.op);
    return nullptr;
  }
  return results_to_python(binding, results);
}

PyObject* call_one(OperatorObject* object, PyObject* const* args, std::size_t count, PyObject* keywords) {
  const Binding& binding = binding_of(object);
  CallStorage storage;
  if (binding.keys.size() <= kInlineArguments) [[likely]] {
    std::array<Arg, kInlineArguments> views;
    read_arguments(binding, args, count, keywords, views.data(), storage);
    return run(object, binding, views.data());
  }
  std::vector<Arg> views(binding.keys.size());
  read_arguments(binding, args, count, keywords, views.data(), storage);
  return run(object, binding, views.data());
}

PyObject* new_operator(const OperatorHandle& handle, bool packet);

/// Calls the first overload that the arguments fit.
[[gnu::cold, gnu::noinline]] PyObject* call_overloads(OperatorObject* object, const std::vector<OperatorHandle>& all,
                                                      PyObject* const* args, std::size_t count, PyObject* keywords) {
  std::string tried;
  for (const OperatorHandle& handle : all) {
    const PyRef overload = PyRef::adopt(checked(new_operator(handle, false)));
    const Binding& binding = binding_of(as_operator(overload.get()));
    CallStorage storage;
    std::vector<Arg> views(binding.keys.size());
    try {
      read_arguments(binding, args, count, keywords, views.data(), storage);
    } catch (const TypeError& error) {
      tried += std::string("\n  ") + binding.plan.schema.str() + "\n    " + error.what();
      continue;
    }
    return run(as_operator(overload.get()), binding, views.data());
  }
  fail<TypeError>("[", object->entry->name, "] the arguments fit none of its overloads:", tried);
}

/// Returns the result of a call that this thread's recorder took; null if it took none.
[[gnu::cold]] PyRef captured(PyObject* self, PyObject* const* args, std::size_t count, PyObject* keywords) {
  if (!is_capturing()) return {};
  return capture_call("registered", self, args, static_cast<Py_ssize_t>(count), keywords);
}

/// Function that is asked for calls with tensors of subclasses; null where nobody takes calls over. Never freed.
std::atomic<PyObject*> taker{nullptr};

/// True if a tensor of a subclass is among the arguments, or in a list or tuple of them.
bool has_subclasses(PyObject* const* args, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    PyObject* const each = args[i];
    if (PyList_CheckExact(each) || PyTuple_CheckExact(each)) {
      if (has_subclasses(PySequence_Fast_ITEMS(each), static_cast<std::size_t>(PySequence_Fast_GET_SIZE(each)))) {
        return true;
      }
    } else if (is_tensor(each) && !Py_IS_TYPE(each, tensor_type)) {
      return true;
    }
  }
  return false;
}

/// Returns what a call with tensors of subclasses gives by who takes it over; null where nobody does.
[[gnu::cold, gnu::noinline]] PyRef taken_over(PyObject* self, PyObject* const* args, std::size_t count,
                                              PyObject* keywords) {
  const auto named = keywords ? static_cast<std::size_t>(PyTuple_GET_SIZE(keywords)) : 0;
  if (!has_subclasses(args, count + named)) return {};
  const PyRef given = tuple_from(std::span(args, count), [](PyObject* each) { return PyRef::share(each); });
  const PyRef options = PyRef::adopt(checked(PyDict_New()));
  for (std::size_t k = 0; k < named; ++k) {
    checked(PyDict_SetItem(options.get(), PyTuple_GET_ITEM(keywords, static_cast<Py_ssize_t>(k)), args[count + k]));
  }
  PyRef result =
      PyRef::adopt(checked(PyObject_CallFunctionObjArgs(taker.load(), self, given.get(), options.get(), nullptr)));
  return result.get() == Py_NotImplemented ? PyRef() : std::move(result);
}

PyObject* call_overload(PyObject* self, PyObject* const* args, std::size_t flags, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    const auto count = static_cast<std::size_t>(PyVectorcall_NARGS(flags));
    if (keywords && PyTuple_GET_SIZE(keywords) == 0) keywords = nullptr;
    if (taker.load(std::memory_order_relaxed)) [[unlikely]] {
      if (PyRef taken = taken_over(self, args, count, keywords)) return taken.release();
    }
    if (PyRef recorded = captured(self, args, count, keywords)) return recorded.release();
    const autograd::ProfileSpan span(autograd::ProfileEvent::Kind::Operator, as_operator(self)->entry->name);
    return call_one(as_operator(self), args, count, keywords);
  });
}

PyObject* call(PyObject* self, PyObject* const* args, std::size_t flags, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    OperatorObject* const object = as_operator(self);
    const auto count = static_cast<std::size_t>(PyVectorcall_NARGS(flags));
    if (keywords && PyTuple_GET_SIZE(keywords) == 0) keywords = nullptr;
    if (object->alone.load(std::memory_order_relaxed) != registry::generation()) [[unlikely]] {
      const bool asks = taker.load(std::memory_order_relaxed) != nullptr;
      if (asks) {
        if (PyRef taken = taken_over(self, args, count, keywords)) return taken.release();
      }
      if (PyRef recorded = captured(self, args, count, keywords)) return recorded.release();
      const autograd::ProfileSpan span(autograd::ProfileEvent::Kind::Operator, object->entry->name);
      const std::uint64_t now = registry::generation();
      const auto all = Dispatcher::singleton().overloads(object->entry->name);
      if (all.size() > 1) return call_overloads(object, all, args, count, keywords);
      // While somebody records, is profiled or takes calls over, every call comes by here.
      if (asks || are_calls_watched()) return call_one(object, args, count, keywords);
      object->alone.store(now, std::memory_order_relaxed);
    }
    return call_one(object, args, count, keywords);
  });
}

PyObject* new_operator(const OperatorHandle& handle, bool packet) {
  auto* const object = as_operator(checked(operator_type->tp_alloc(operator_type, 0)));
  object->call = packet ? call : call_overload;
  object->entry = handle.entry();
  new (&object->binding) std::atomic<const Binding*>(nullptr);
  object->packet = packet;
  new (&object->alone) std::atomic<std::uint64_t>(0);
  return reinterpret_cast<PyObject*>(object);
}

// Attributes

PyRef text(std::string_view value) {
  return PyRef::adopt(checked(PyUnicode_DecodeUTF8(value.data(), static_cast<Py_ssize_t>(value.size()), "replace")));
}

template <auto Get>
PyObject* attribute(PyObject* self, void*) {
  return guarded([&]() -> PyObject* { return Get(handle_of(self)).release(); });
}

std::string short_name(const OperatorHandle& handle) { return handle.name().substr(handle.name().find("::") + 2); }

PyRef docstring(const OperatorHandle& handle) {
  std::string doc = handle.schema().str();
  for (const OperatorHandle& other : Dispatcher::singleton().overloads(handle.name())) {
    if (!(other == handle)) doc += "\n" + other.schema().str();
  }
  if (const std::string own = handle.doc(); !own.empty()) doc += "\n\n" + own;
  return text(doc);
}

/// Returns the file and line of each kernel: {"CPU": "csrc/ops.cpp:12"}.
PyRef kernel_dict(const OperatorHandle& handle) {
  PyRef dict = PyRef::adopt(checked(PyDict_New()));
  for (const registry::KernelInfo& kernel : handle.kernels()) {
    const PyRef place = text(kernel.fallthrough ? "fallthrough at " + kernel.place.str() : kernel.place.str());
    checked(PyDict_SetItem(dict.get(), text(name(kernel.key)).get(), place.get()));
  }
  return dict;
}

PyRef overload_names(const OperatorHandle& handle) {
  PyRef list = PyRef::adopt(checked(PyList_New(0)));
  for (const OperatorHandle& other : Dispatcher::singleton().overloads(handle.name())) {
    checked(PyList_Append(list.get(), text(other.overload().empty() ? "default" : other.overload()).get()));
  }
  return list;
}

PyRef alias_of(const std::optional<Schema::Alias>& alias) {
  return alias ? text(alias->set + (alias->write ? "!" : "")) : PyRef::share(Py_None);
}

/// Returns [(name, type, has_default, default, keyword_only, alias)].
PyRef argument_list(const OperatorHandle& handle) {
  PyRef list = PyRef::adopt(checked(PyList_New(0)));
  for (const Schema::Argument& argument : handle.schema().arguments) {
    const bool has_default = argument.default_value.has_value();
    const PyRef value = has_default ? value_to_python(argument.default_value->view()) : PyRef::share(Py_None);
    const PyRef item = PyRef::adopt(checked(
        PyTuple_Pack(6, text(argument.name).get(), text(argument.type.str()).get(), has_default ? Py_True : Py_False,
                     value.get(), argument.keyword_only ? Py_True : Py_False, alias_of(argument.alias).get())));
    checked(PyList_Append(list.get(), item.get()));
  }
  return list;
}

/// Returns [(name, type, alias)].
PyRef result_list(const OperatorHandle& handle) {
  PyRef list = PyRef::adopt(checked(PyList_New(0)));
  for (const Schema::Result& result : handle.schema().results) {
    const PyRef item = PyRef::adopt(
        checked(PyTuple_Pack(3, text(result.name).get(), text(result.type.str()).get(), alias_of(result.alias).get())));
    checked(PyList_Append(list.get(), item.get()));
  }
  return list;
}

/// Returns the attribute __signature__, which inspect.signature() reads.
PyRef python_signature(const OperatorHandle& handle) {
  const PyRef module = PyRef::adopt(checked(PyImport_ImportModule("lamella.library._signature")));
  return PyRef::adopt(checked(PyObject_CallMethod(module.get(), "signature", "NN", argument_list(handle).release(),
                                                  result_list(handle).release())));
}

PyObject* is_packet(PyObject* self, void*) { return PyBool_FromLong(as_operator(self)->packet); }

PyGetSetDef attributes[] = {
    {"__name__", attribute<[](const OperatorHandle& op) { return text(short_name(op)); }>, nullptr, nullptr, nullptr},
    {"__qualname__", attribute<[](const OperatorHandle& op) { return text(short_name(op)); }>, nullptr, nullptr,
     nullptr},
    {"__module__", attribute<[](const OperatorHandle& op) {
       return text("lamella.ops." + op.name().substr(0, op.name().find("::")));
     }>,
     nullptr, nullptr, nullptr},
    {"__doc__", attribute<docstring>, nullptr, nullptr, nullptr},
    {"__signature__", attribute<python_signature>, nullptr, nullptr, nullptr},
    {"name", attribute<[](const OperatorHandle& op) { return text(op.name()); }>, nullptr,
     "\"ns::name\", without the overload.", nullptr},
    {"overload", attribute<[](const OperatorHandle& op) { return text(op.overload()); }>, nullptr,
     "The overload's name; empty for the one without.", nullptr},
    {"schema", attribute<[](const OperatorHandle& op) { return text(op.schema().str()); }>, nullptr,
     "What the operator takes and gives, as text.", nullptr},
    {"arguments", attribute<argument_list>, nullptr,
     "A list of (name, type, has_default, default, keyword_only, alias).", nullptr},
    {"results", attribute<result_list>, nullptr, "A list of (name, type, alias).", nullptr},
    {"kernels", attribute<kernel_dict>, nullptr, "Where each kernel was registered, by key.", nullptr},
    {"place", attribute<[](const OperatorHandle& op) { return text(op.place().str()); }>, nullptr,
     "Where the operator was defined.", nullptr},
    {"is_packet", is_packet, nullptr, "True if other overloads are tried when the arguments do not fit this one.",
     nullptr},
    {"is_defined",
     attribute<[](const OperatorHandle& op) { return PyRef::share(op.is_defined() ? Py_True : Py_False); }>, nullptr,
     "True if the operator is still registered.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyObject* overloads(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* { return overload_names(handle_of(self)).release(); });
}

PyObject* below_autograd(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    const AutoDispatchBelowAutograd below;
    return call_one(as_operator(self), args, static_cast<std::size_t>(count), keywords);
  });
}

PyObject* has_kernel(PyObject* self, PyObject* key) {
  return guarded([&]() -> PyObject* {
    const char* const name = checked(PyUnicode_AsUTF8(key));
    return PyBool_FromLong(handle_of(self).has_kernel(parse_dispatch_key(name)));
  });
}

PyMethodDef methods[] = {
    {"overloads", overloads, METH_NOARGS, "overloads($self, /)\n--\n\nThe names of the operator's overloads."},
    {"below_autograd", as_c_function(below_autograd), METH_FASTCALL | METH_KEYWORDS,
     "below_autograd($self, /, *args, **kwargs)\n--\n\n"
     "Calls the kernel of the tensors' device: what a kernel for Autograd does."},
    {"has_kernel", has_kernel, METH_O,
     "has_kernel($self, key, /)\n--\n\nTrue if there is a kernel for this key, such as 'CPU'."},
    {nullptr, nullptr, 0, nullptr},
};

PyObject* get_attribute(PyObject* self, PyObject* name) {
  PyObject* const found = PyObject_GenericGetAttr(self, name);
  if (found || !PyErr_ExceptionMatches(PyExc_AttributeError)) return found;
  const PythonError missing;
  PyObject* const result = guarded([&]() -> PyObject* {
    std::string overload = checked(PyUnicode_AsUTF8(name));
    if (overload == "default") overload.clear();
    const auto handle = Dispatcher::singleton().find_schema(handle_of(self).name(), overload);
    return handle ? new_operator(*handle, false) : nullptr;
  });
  if (!result && !PyErr_Occurred()) missing.restore();
  return result;
}

PyObject* represent(PyObject* self) {
  return guarded([&]() -> PyObject* {
    const OperatorHandle handle = handle_of(self);
    if (!handle.is_defined()) return text("<operator " + handle.full_name() + ", not registered any more>").release();
    return text("<operator " + handle.schema().str() + ">").release();
  });
}

void destroy(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

Py_hash_t hash(PyObject* self) {
  // Entries are aligned, so that the lowest bits are always 0; the shift also keeps the hash from being -1.
  return static_cast<Py_hash_t>(reinterpret_cast<std::uintptr_t>(as_operator(self)->entry) >> 4);
}

PyObject* compare(PyObject* a, PyObject* b, int op) {
  if (!Py_IS_TYPE(b, operator_type) || (op != Py_EQ && op != Py_NE)) Py_RETURN_NOTIMPLEMENTED;
  const bool same = as_operator(a)->entry == as_operator(b)->entry;
  return PyBool_FromLong(same == (op == Py_EQ));
}

PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(OperatorObject, call), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

// Functions of the module

PyObject* find_operator(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded([&]() -> PyObject* {
    if (count != 1) fail<TypeError>("[find_operator] takes one argument, \"ns::name\"");
    const std::string name = checked(PyUnicode_AsUTF8(args[0]));
    if (name.find('.') == std::string::npos) {
      const auto all = Dispatcher::singleton().overloads(name);
      if (!all.empty()) return new_operator(all.front(), true);
    }
    return new_operator(Dispatcher::singleton().find_schema_or_throw(name), false);
  });
}

/// Takes the function that is asked for calls with tensors of subclasses: `taker(operator, args, kwargs)`.
PyObject* set_taker(PyObject*, PyObject* function) {
  taker.store(Py_NewRef(function));
  registry::advance_generation();  // so that every operator's next call asks
  Py_RETURN_NONE;
}

PyObject* operator_names_of(PyObject*, PyObject* ns) {
  return guarded([&]() -> PyObject* {
    PyRef list = PyRef::adopt(checked(PyList_New(0)));
    for (const OperatorHandle& handle : Dispatcher::singleton().operators(checked(PyUnicode_AsUTF8(ns)))) {
      checked(PyList_Append(list.get(), text(handle.full_name()).get()));
    }
    return list.release();
  });
}

PyObject* operator_namespaces(PyObject*, PyObject*) {
  return guarded([&]() -> PyObject* {
    PyRef list = PyRef::adopt(checked(PyList_New(0)));
    for (const std::string& ns : Dispatcher::singleton().namespaces()) {
      checked(PyList_Append(list.get(), text(ns).get()));
    }
    return list.release();
  });
}

PyMethodDef registry_method_defs[] = {
    {"_find_operator", as_c_function(find_operator), METH_FASTCALL, nullptr},
    {"_set_operator_taker", set_taker, METH_O, nullptr},
    {"_operator_names", operator_names_of, METH_O, nullptr},
    {"_operator_namespaces", operator_namespaces, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

PyTypeObject* make_operator_type() {
  static PyType_Slot slots[] = {
      {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
      {Py_tp_dealloc, reinterpret_cast<void*>(destroy)},
      {Py_tp_getattro, reinterpret_cast<void*>(get_attribute)},
      {Py_tp_repr, reinterpret_cast<void*>(represent)},
      {Py_tp_hash, reinterpret_cast<void*>(hash)},
      {Py_tp_richcompare, reinterpret_cast<void*>(compare)},
      {Py_tp_members, members},
      {Py_tp_getset, attributes},
      {Py_tp_methods, methods},
      {0, nullptr},
  };
  return operator_type = new_type<OperatorObject>("lamella._C._Operator", slots,
                                                  Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION);
}

PyMethodDef* registry_functions() { return registry_method_defs; }

}  // namespace lamella::python
