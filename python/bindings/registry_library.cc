#include <unistd.h>

#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/registry/checks.h"
#include "engine/registry/library.h"
#include "engine/registry/load.h"
#include "engine/registry/pending.h"
#include "engine/registry/static_library.h"
#include "engine/runtime/graphs.h"
#include "python/bindings/containers.h"
#include "python/bindings/errors.h"
#include "python/bindings/gil.h"
#include "python/bindings/method.h"
#include "python/bindings/registry_operator.h"
#include "python/bindings/registry_values.h"
#include "python/bindings/tensor_object.h"

namespace lamella::python {
namespace {

using registry::Arg;
using registry::CallContext;
using registry::KernelFunction;
using registry::Value;

constexpr const char* kCapsule = "lamella._C.library";
constexpr std::size_t kInlineArguments = 12;

/// Kernel written in Python. A kernel that is withdrawn stays in memory, as every kernel does; its Python function is
/// dropped.
struct PythonKernel {
  explicit PythonKernel(PyObject* function) : function(share_object(function)) {}

  SharedObject get() {
    const std::lock_guard lock(mutex);
    return function;
  }
  void drop() {
    SharedObject last;
    const std::lock_guard lock(mutex);
    last.swap(function);
  }

  StateMutex mutex;
  SharedObject function;
};

/// Returns the names of a schema's keyword-only arguments; null if there are none.
PyRef keyword_names(const Schema& schema) {
  std::vector<PyRef> names;
  for (const Schema::Argument& argument : schema.arguments) {
    if (argument.keyword_only) {
      names.push_back(PyRef::adopt(checked(PyUnicode_InternFromString(argument.name.c_str()))));
    }
  }
  if (names.empty()) return {};
  return tuple_from(names, [](const PyRef& name) { return name; });
}

std::string result_label(const Schema& schema, std::size_t k) {
  const Schema::Result& result = schema.results[k];
  const std::string text = schema.results.size() == 1 ? "the result" : "result " + std::to_string(k);
  return result.name.empty() ? text : text + " ('" + result.name + "')";
}

/// Reads result k of a Python kernel.
Value read_result(const CallContext& context, std::size_t k, PyObject* object) {
  const Schema& schema = context.schema;
  if (is_tensor(object) && schema.results[k].type == registry::Type{.base = registry::Type::Base::Tensor}) [[likely]]
    return tensor_of(object);
  const std::string label = result_label(schema, k);
  if (object == Py_None && !schema.results[k].type.optional) {
    fail<RuntimeError>("[", context.op.full_name(), "] the kernel left ", label, " undefined: it returned None where ",
                       schema.results[k].type.str(), " is expected");
  }
  CallStorage storage;
  return Value(read_value(object, schema.results[k].type, {context.op.full_name(), label}, storage));
}

void read_results(const CallContext& context, PyObject* object, Value* results) {
  const Schema& schema = context.schema;
  if (schema.results.empty()) {
    if (object == Py_None) return;
    fail<TypeError>("[", context.op.full_name(), "] the kernel returned ", type_name(object),
                    ", the schema says that it returns nothing: ", schema.str());
  }
  if (schema.results.size() == 1) {
    results[0] = read_result(context, 0, object);
    return;
  }
  if (!PyTuple_Check(object) && !PyList_Check(object)) {
    fail<TypeError>("[", context.op.full_name(), "] the kernel returned ", type_name(object), ", expected a tuple of ",
                    schema.results.size(), ": ", schema.str());
  }
  const auto count = static_cast<std::size_t>(PySequence_Fast_GET_SIZE(object));
  if (count != schema.results.size()) {
    fail<ValueError>("[", context.op.full_name(), "] the kernel returned ", count, " results, expected ",
                     schema.results.size(), ": ", schema.str());
  }
  for (std::size_t k = 0; k < count; ++k) {
    const PyRef item = PyRef::share(PySequence_Fast_GET_ITEM(object, static_cast<Py_ssize_t>(k)));
    results[k] = read_result(context, k, item.get());
  }
}

void call_python(const void* functor, const CallContext& context, const Arg* args, Value* results) {
  refuse_host_code(context.op.full_name().c_str());
  const GilHold gil;
  const SharedObject function = static_cast<PythonKernel*>(const_cast<void*>(functor))->get();
  if (!function) fail<RuntimeError>("[", context.op.full_name(), "] the kernel was withdrawn during the call");
  const Schema& schema = context.schema;
  const std::size_t count = schema.arguments.size();
  SmallVector<PyRef, kInlineArguments> held(count);
  // The slot in front is scratch space that a vectorcall may use for a bound method's self.
  SmallVector<PyObject*, kInlineArguments + 1> pointers(count + 1, nullptr);
  std::size_t positional = 0;
  for (std::size_t i = 0; i < count; ++i) {
    held[i] = value_to_python(args[i]);
    pointers[i + 1] = held[i].get();
    if (!schema.arguments[i].keyword_only) ++positional;
  }
  const PyRef names = positional == count ? PyRef() : keyword_names(schema);
  const PyRef result = PyRef::adopt(checked(PyObject_Vectorcall(
      function.get(), pointers.data() + 1, positional | PY_VECTORCALL_ARGUMENTS_OFFSET, names.get())));
  read_results(context, result.get(), results);
}

/// Library made by Python.
struct PythonLibrary {
  PythonLibrary(Library::Kind kind, std::string ns, DispatchKey key, registry::Place place)
      : library(kind, std::move(ns), key, std::move(place)) {}
  ~PythonLibrary() { reset(); }

  void reset() {
    library.reset();
    for (PythonKernel* kernel : kernels) kernel->drop();
    kernels.clear();
  }

  Library library;
  /// Kernels are never freed, as a call may be running in one.
  std::vector<PythonKernel*> kernels;
};

PythonLibrary& library_of(PyObject* capsule) {
  return *static_cast<PythonLibrary*>(checked(PyCapsule_GetPointer(capsule, kCapsule)));
}

std::string text_of(PyObject* object) { return checked(PyUnicode_AsUTF8(object)); }

registry::Place place_of(PyObject* file, PyObject* line) {
  const long number = PyLong_AsLong(line);
  if (number == -1 && PyErr_Occurred()) throw_python_error();
  return {text_of(file), static_cast<unsigned>(number)};
}

DispatchKey key_of(PyObject* object) {
  return object == Py_None ? DispatchKey::Undefined : parse_dispatch_key(text_of(object));
}

void expect_count(Py_ssize_t count, Py_ssize_t wanted, const char* what) {
  if (count != wanted) fail<TypeError>("[", what, "] takes ", wanted, " arguments, ", count, " were given");
}

/// Takes (kind, ns, key, file, line).
PyObject* new_library(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded([&]() -> PyObject* {
    expect_count(count, 5, "Library");
    const std::string kind = text_of(args[0]);
    if (kind != "DEF" && kind != "FRAGMENT" && kind != "IMPL") {
      fail<ValueError>("[Library] expected kind 'DEF', 'FRAGMENT' or 'IMPL', got '", kind, "'");
    }
    auto library = std::make_unique<PythonLibrary>(kind == "DEF"        ? Library::Kind::Def
                                                   : kind == "FRAGMENT" ? Library::Kind::Fragment
                                                                        : Library::Kind::Impl,
                                                   text_of(args[1]), key_of(args[2]), place_of(args[3], args[4]));
    PyObject* const capsule = checked(PyCapsule_New(library.get(), kCapsule, [](PyObject* object) {
      delete static_cast<PythonLibrary*>(PyCapsule_GetPointer(object, kCapsule));
    }));
    library.release();
    return capsule;
  });
}

/// Takes (library, schema, file, line); returns the operator's full name.
PyObject* library_define(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded([&]() -> PyObject* {
    expect_count(count, 4, "Library.define");
    Library& library = library_of(args[0]).library;
    const std::string schema = text_of(args[1]);
    library.define(schema, place_of(args[2], args[3]));
    const std::string name = Schema::parse(schema).full_name();
    const std::string full = name.find("::") == std::string::npos ? library.ns() + "::" + name : name;
    return PyUnicode_FromString(full.c_str());
  });
}

/// True for keys of which kernels compute for tensors of devices, below Autograd.
bool is_of_devices(DispatchKey key) {
  return key != DispatchKey::CompositeImplicitAutograd && !lamella::name(key).starts_with("Autograd");
}

/// Takes (library, name, function or None, key or None, for_recording, file, line). for_recording is None for a
/// device's kernel whose own computations are never on the tape.
PyObject* library_implement(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded([&]() -> PyObject* {
    expect_count(count, 7, "Library.impl");
    PythonLibrary& library = library_of(args[0]);
    const std::string name = text_of(args[1]);
    // A kernel registered from Python needs its operator to be defined first. In C++ it may come earlier, as static
    // libraries are initialized in any order.
    const std::string& ns = library.library.ns();
    Dispatcher::singleton().find_schema_or_throw(name.starts_with(ns + "::") ? name : ns + "::" + name);
    if (args[2] == Py_None) {
      library.library.implement(name, key_of(args[3]), KernelFunction::fallthrough(), place_of(args[5], args[6]));
      Py_RETURN_NONE;
    }
    if (!PyCallable_Check(args[2])) {
      fail<TypeError>("[", name, "] expected a function as kernel, got ", type_name(args[2]));
    }
    const DispatchKey wish = key_of(args[3]);
    const DispatchKey key = wish == DispatchKey::Undefined ? library.library.default_key() : wish;
    auto kernel = std::make_unique<PythonKernel>(args[2]);
    KernelFunction function = KernelFunction::boxed(call_python, kernel.get(), nullptr);
    if (args[4] == Py_True) function.set_for_recording();
    if (args[4] == Py_None && is_of_devices(key)) function.set_for_recording();  // see Note [Kernels that are followed]
    library.library.implement(name, key_of(args[3]), std::move(function), place_of(args[5], args[6]));
    library.kernels.push_back(kernel.release());
    Py_RETURN_NONE;
  });
}

/// Takes (library, name, text).
PyObject* library_doc(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded([&]() -> PyObject* {
    expect_count(count, 3, "Library.doc");
    library_of(args[0]).library.doc(text_of(args[1]), text_of(args[2]));
    Py_RETURN_NONE;
  });
}

PyObject* library_reset(PyObject*, PyObject* capsule) {
  return guarded([&]() -> PyObject* {
    library_of(capsule).reset();
    Py_RETURN_NONE;
  });
}

PyObject* load_library(PyObject*, PyObject* path) {
  return guarded([&]() -> PyObject* { return PyUnicode_FromString(registry::load_library(text_of(path)).c_str()); });
}

/// Takes the paths of the other versions of the shared object that this thread is about to load.
PyObject* begin_version(PyObject*, PyObject* others) {
  return guarded([&]() -> PyObject* {
    std::vector<std::string> paths;
    for (Py_ssize_t i = 0; i < PyList_Size(others); ++i) paths.push_back(text_of(PyList_GetItem(others, i)));
    registry::begin_version(std::move(paths));
    Py_RETURN_NONE;
  });
}

/// Takes (path, whether it was loaded).
PyObject* end_version(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded([&]() -> PyObject* {
    expect_count(count, 2, "end_version");
    registry::end_version(text_of(args[0]), args[1] == Py_True);
    Py_RETURN_NONE;
  });
}

PyObject* register_again(PyObject*, PyObject* path) {
  return guarded([&]() -> PyObject* {
    registry::register_again(text_of(path));
    Py_RETURN_NONE;
  });
}

/// Raises the error of a registration, unless somebody has asked for it meanwhile.
int raise_failure(void*) {
  const std::exception_ptr error = registry::pending_error();
  if (!error) return 0;
  try {
    std::rethrow_exception(error);
  } catch (...) {
    set_python_error();
  }
  return -1;
}

/// Has the error of a registration raised where Python code goes on: behind the import that loaded the shared object.
void tell_failure() noexcept {
  // Python runs what is pending in the main thread only; in others, and where too much is pending, the first call of an
  // operator tells.
  if (!Py_IsInitialized() || !PyGILState_Check() || ::getpid() != ::gettid()) return;
  static_cast<void>(Py_AddPendingCall(raise_failure, nullptr));
}

PyObject* loaded_libraries(PyObject*, PyObject*) {
  return guarded([&]() -> PyObject* {
    PyRef list = PyRef::adopt(checked(PyList_New(0)));
    for (const std::string& path : registry::loaded_libraries()) {
      const PyRef item = PyRef::adopt(checked(PyUnicode_FromString(path.c_str())));
      checked(PyList_Append(list.get(), item.get()));
    }
    return list.release();
  });
}

PyObject* parse_schema(PyObject*, PyObject* text) {
  return guarded([&]() -> PyObject* { return PyUnicode_FromString(Schema::parse(text_of(text)).str().c_str()); });
}

/// Enables or disables the check of results for undeclared aliases; returns the previous setting.
PyObject* set_alias_checks(PyObject*, PyObject* enabled) {
  const bool before = registry::alias_checks_enabled();
  registry::set_alias_checks(enabled == Py_True);
  return PyBool_FromLong(before);
}

PyMethodDef registration_method_defs[] = {
    {"_library_new", as_c_function(new_library), METH_FASTCALL, nullptr},
    {"_library_define", as_c_function(library_define), METH_FASTCALL, nullptr},
    {"_library_implement", as_c_function(library_implement), METH_FASTCALL, nullptr},
    {"_library_doc", as_c_function(library_doc), METH_FASTCALL, nullptr},
    {"_library_reset", library_reset, METH_O, nullptr},
    {"_load_library", load_library, METH_O, nullptr},
    {"_begin_version", begin_version, METH_O, nullptr},
    {"_end_version", as_c_function(end_version), METH_FASTCALL, nullptr},
    {"_register_again", register_again, METH_O, nullptr},
    {"_loaded_libraries", loaded_libraries, METH_NOARGS, nullptr},
    {"_parse_schema", parse_schema, METH_O, nullptr},
    {"_set_alias_checks", set_alias_checks, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

PyMethodDef* registration_functions() {
  registry::set_failure_observer(tell_failure);
  return registration_method_defs;
}

}  // namespace lamella::python
