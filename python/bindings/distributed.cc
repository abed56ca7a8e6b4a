#include "python/bindings/distributed.h"

#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/core/host.h"
#include "engine/distributed/process_group.h"
#include "ops/distributed/layers.h"
#include "ops/distributed/load.h"
#include "python/bindings/convert.h"
#include "python/bindings/errors.h"
#include "python/bindings/method.h"
#include "python/bindings/py_ref.h"

namespace lamella::python {
namespace {

using distributed::Milliseconds;
using distributed::Pattern;
using distributed::ProcessGroup;

PyTypeObject* group_type = nullptr;
PyTypeObject* work_type = nullptr;

PyObject* text(std::string_view value) {
  return checked(PyUnicode_FromStringAndSize(value.data(), static_cast<Py_ssize_t>(value.size())));
}

std::string read_string(PyObject* object, const Argument& argument) {
  return std::string(read<std::string_view>(object, argument));
}

std::vector<int> read_ranks(PyObject* object, const Argument& argument) {
  std::vector<int> ranks;
  for (const std::int64_t rank : read<Dims>(object, argument)) ranks.push_back(static_cast<int>(rank));
  return ranks;
}

// lamella.distributed.ProcessGroup
// ---------------------------------------------------------------------------------------------------------------------

struct GroupObject {
  PyObject_HEAD std::shared_ptr<ProcessGroup> group;
};

ProcessGroup& group_of(PyObject* self) { return *reinterpret_cast<GroupObject*>(self)->group; }

/// Destroys the C++ part of an object, and lets other threads run while it does: it may wait for one of them.
template <class Object, auto kMember>
void dealloc(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  {
    auto held = std::move(reinterpret_cast<Object*>(self)->*kMember);
    std::destroy_at(&(reinterpret_cast<Object*>(self)->*kMember));
    PyThreadState* const state = PyEval_SaveThread();
    held.reset();
    restore_thread(state);
  }
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* wrap_group(std::shared_ptr<ProcessGroup> group) {
  auto* object = checked(PyObject_New(GroupObject, group_type));
  new (&object->group) std::shared_ptr<ProcessGroup>(std::move(group));
  return reinterpret_cast<PyObject*>(object);
}

PyObject* get_rank(PyObject* self, void*) {
  return guarded([&] { return checked(PyLong_FromLong(group_of(self).rank())); });
}
PyObject* get_size(PyObject* self, void*) {
  return guarded([&] { return checked(PyLong_FromLong(group_of(self).size())); });
}
PyObject* get_ranks(PyObject* self, void*) {
  return guarded([&] {
    const std::vector<int>& ranks = group_of(self).ranks();
    PyRef tuple = PyRef::adopt(checked(PyTuple_New(static_cast<Py_ssize_t>(ranks.size()))));
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), checked(PyLong_FromLong(ranks[i])));
    }
    return tuple.release();
  });
}
PyObject* get_backend(PyObject* self, void*) {
  return guarded([&] { return text(group_of(self).backend_name()); });
}
PyObject* get_device_backend(PyObject* self, void*) {
  return guarded([&] { return text(group_of(self).device_backend_name()); });
}
PyObject* get_name(PyObject* self, void*) {
  return guarded([&] { return text(group_of(self).name()); });
}
PyObject* get_timeout(PyObject* self, void*) {
  return guarded(
      [&] { return checked(PyFloat_FromDouble(static_cast<double>(group_of(self).timeout().count()) / 1000.0)); });
}
PyObject* get_debug(PyObject* self, void*) {
  return guarded([&] { return PyBool_FromLong(group_of(self).is_debug()); });
}

PyObject* group_repr(PyObject* self) {
  return guarded([&] {
    const ProcessGroup& group = group_of(self);
    return text(str("<lamella.distributed.ProcessGroup '", group.name(), "' backend='", group.backend_name(),
                    "' rank=", group.rank(), " size=", group.size(), ">"));
  });
}

PyGetSetDef group_attributes[] = {
    {"rank", get_rank, nullptr, "Rank of this process in the group, from 0; -1 if it is not a member.", nullptr},
    {"size", get_size, nullptr, "Number of processes in the group.", nullptr},
    {"ranks", get_ranks, nullptr, "The members by their ranks in the default group, in the order of those here.",
     nullptr},
    {"backend", get_backend, nullptr, "Name of the backend for tensors of the CPU, such as 'gloo'.", nullptr},
    {"device_backend", get_device_backend, nullptr,
     "Name of the backend for tensors of other devices, such as 'nccl'; '' before the first operation on them, and "
     "where "
     "they are copied to the CPU and back.",
     nullptr},
    {"name", get_name, nullptr, "Name of the group, by which the operators find it.", nullptr},
    {"timeout", get_timeout, nullptr, "Limit for each operation, in seconds.", nullptr},
    {"debug", get_debug, nullptr, "True if the processes compare their calls before each operation.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

// lamella.distributed.Work
// ---------------------------------------------------------------------------------------------------------------------

struct WorkObject {
  PyObject_HEAD std::shared_ptr<distributed::Pending> pending;
};

distributed::Pending& pending_of(PyObject* self) { return *reinterpret_cast<WorkObject*>(self)->pending; }

PyObject* wrap_work(distributed::Pending pending) {
  auto* object = checked(PyObject_New(WorkObject, work_type));
  new (&object->pending)
      std::shared_ptr<distributed::Pending>(std::make_shared<distributed::Pending>(std::move(pending)));
  return reinterpret_cast<PyObject*>(object);
}

PyObject* wait(PyObject* self, PyObject*) {
  return guarded([&] {
    // Kept here: another thread may drop the object meanwhile.
    const auto pending = reinterpret_cast<WorkObject*>(self)->pending;
    if (pending->work) pending->work->wait();
    return pending->result ? wrap(pending->result()) : Py_NewRef(Py_None);
  });
}

PyObject* is_completed(PyObject* self, PyObject*) {
  return guarded([&] {
    const auto& work = pending_of(self).work;
    return PyBool_FromLong(!work || work->is_completed());
  });
}

PyMethodDef work_methods[] = {
    {"wait", wait, METH_NOARGS,
     "wait($self, /)\n--\n\n"
     "Waits until the operation has ended, and returns its result: a tensor, or None. Other threads run meanwhile.\n"
     "DistributedError where another process failed or did not answer within the group's timeout."},
    {"is_completed", is_completed, METH_NOARGS,
     "is_completed($self, /)\n--\n\nTrue if the operation has ended, well or not."},
    {nullptr, nullptr, 0, nullptr},
};

// Making groups
// ---------------------------------------------------------------------------------------------------------------------

/// Store that is an object in Python with the methods set(key, value) and get(key, seconds), of str and bytes.
class PythonStore : public distributed::Store {
 public:
  explicit PythonStore(PyObject* object) : object_(share_object(object)) {}

  void set(const std::string& key, const std::string& value) override {
    const GilHold gil;
    const PyRef bytes =
        PyRef::adopt(checked(PyBytes_FromStringAndSize(value.data(), static_cast<Py_ssize_t>(value.size()))));
    PyRef::adopt(checked(PyObject_CallMethod(object_.get(), "set", "sO", key.c_str(), bytes.get())));
  }
  std::string get(const std::string& key, Milliseconds timeout) override {
    const GilHold gil;
    const PyRef value = PyRef::adopt(checked(
        PyObject_CallMethod(object_.get(), "get", "sd", key.c_str(), static_cast<double>(timeout.count()) / 1000.0)));
    char* bytes = nullptr;
    Py_ssize_t size = 0;
    checked(PyBytes_AsStringAndSize(value.get(), &bytes, &size));
    return {bytes, static_cast<std::size_t>(size)};
  }

 private:
  SharedObject object_;
};

/// Connects on a thread of its own, so that an interrupt can end the wait.
void connect(distributed::GroupOptions& group, distributed::BackendFactory factory,
             const distributed::BackendOptions& options) {
  struct Attempt {
    distributed::Work work;
    std::unique_ptr<distributed::Backend> backend;
    std::unique_ptr<distributed::Progress> progress;
  };
  const auto attempt = std::make_shared<Attempt>();
  std::thread([attempt, factory, options] {
    std::exception_ptr error;
    try {
      attempt->backend = factory(options);
      try {
        attempt->progress =
            distributed::Progress::share(*attempt->backend, options.rank, options.size, options.timeout);
      } catch (const std::exception& cause) {
        fail<RuntimeError>("a process has ended while they connect, or does not answer: ", cause.what());
      }
    } catch (...) {
      error = std::current_exception();
    }
    attempt->work.finish(std::move(error));
  }).detach();
  attempt->work.wait();
  group.backend = std::move(attempt->backend);
  group.progress = std::move(attempt->progress);
}

distributed::DeviceUse read_device_use(PyObject* object, const Argument& argument) {
  const std::string text = read_string(object, argument);
  if (text == "none") return distributed::DeviceUse::None;
  if (text == "if_there") return distributed::DeviceUse::IfThere;
  if (text == "required") return distributed::DeviceUse::Required;
  argument.wrong_value(str("it is 'none', 'if_there' or 'required', not '", text, "'"));
}

PyObject* init(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  return guarded([&] {
    static const Signature signature(
        "init_process_group",
        "backend, rank, size, timeout, debug, store_address, store, address, interface, devices, library");
    const auto values = signature.bound<11>(args, count, keywords);
    const auto text_of = [&](std::size_t i) { return read_string(values[i], {signature, i}); };
    const int rank = static_cast<int>(read<std::int64_t>(values[1], {signature, 1}));
    const int size = static_cast<int>(read<std::int64_t>(values[2], {signature, 2}));
    const Milliseconds timeout(static_cast<std::int64_t>(read<double>(values[3], {signature, 3}) * 1000.0));
    distributed::GroupOptions options{.name = "world",
                                      .backend_name = text_of(0),
                                      .rank = rank,
                                      .timeout = timeout,
                                      .debug = read<bool>(values[4], {signature, 4}),
                                      .device_use = read_device_use(values[9], {signature, 9}),
                                      .device_library = text_of(10)};
    for (int i = 0; i < size; ++i) options.ranks.push_back(i);
    if (options.backend_name == "self") {
      options.backend = distributed::solo_backend();
    } else if (options.backend_name != "meta") {
      connect(options, distributed::load_backend(options.backend_name),
              {.rank = rank,
               .size = size,
               .store_address = text_of(5),
               .store = values[6] == Py_None ? nullptr : std::make_shared<PythonStore>(values[6]),
               .address = text_of(7),
               .interface = text_of(8),
               .timeout = timeout});
    }
    const auto group = std::make_shared<ProcessGroup>(std::move(options));
    distributed::add_group(group);
    return wrap_group(group);
  });
}

PyObject* new_group(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  return guarded([&] {
    static const Signature signature("new_group", "parent, name, ranks");
    const auto values = signature.bound<3>(args, count, keywords);
    const auto parent = distributed::find_group(read_string(values[0], {signature, 0}));
    auto group = parent->subset(read_string(values[1], {signature, 1}), read_ranks(values[2], {signature, 2}));
    distributed::add_group(group);
    return wrap_group(std::move(group));
  });
}

PyObject* find(PyObject*, PyObject* name) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("process_group", "name, /");
    return wrap_group(distributed::find_group(read_string(name, {signature, 0})));
  });
}

PyObject* has_default(PyObject*, PyObject*) {
  return guarded([] { return PyBool_FromLong(distributed::default_group() != nullptr); });
}

PyObject* remove(PyObject*, PyObject* name) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("destroy_process_group", "name, /");
    const std::string given = read_string(name, {signature, 0});
    PyThreadState* const state = PyEval_SaveThread();
    distributed::remove_group(given);
    restore_thread(state);
    Py_RETURN_NONE;
  });
}

PyObject* load_devices(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("is_available", "backend, library, /");
    const auto values = signature.bound<2>(args, count, keywords);
    distributed::load_device_library(read_string(values[0], {signature, 0}), read_string(values[1], {signature, 1}));
    Py_RETURN_NONE;
  });
}

PyObject* load(PyObject*, PyObject* name) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("is_available", "backend, /");
    distributed::load_backend(read_string(name, {signature, 0}));
    Py_RETURN_NONE;
  });
}

// Operations that are waited for later
// ---------------------------------------------------------------------------------------------------------------------

struct Named {
  const char* name;
  Pattern pattern;
};
constexpr Named kPatterns[] = {
    {"all_reduce", Pattern::AllReduce}, {"all_gather", Pattern::AllGather}, {"reduce_scatter", Pattern::ReduceScatter},
    {"broadcast", Pattern::Broadcast},  {"reduce", Pattern::Reduce},        {"gather", Pattern::Gather},
    {"scatter", Pattern::Scatter},      {"all_to_all", Pattern::AllToAll},  {"send", Pattern::Send},
    {"recv", Pattern::Receive},
};

Pattern read_pattern(PyObject* object, const Argument& argument) {
  const std::string name = read_string(object, argument);
  for (const auto& [known, pattern] : kPatterns) {
    if (name == known) return pattern;
  }
  argument.wrong_value(str("there is no collective operation '", name, "'"));
}

PyObject* start(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  return guarded([&] {
    static const Signature signature(
        "distributed_start",
        "pattern, x, *, op='sum', root=0, tag=0, axis=0, concat_axis=0, sizes=None, received=None, group='', "
        "in_place=False");
    const auto values = signature.bound<11>(args, count, keywords);
    const auto argument = [&](std::size_t i) { return Argument{signature, i}; };
    const Tensor& x = read<Tensor>(values[1], argument(1));
    const distributed::Arguments arguments{.op = read<std::string_view>(values[2], argument(2)),
                                           .root = read<std::int64_t>(values[3], argument(3)),
                                           .tag = read<std::int64_t>(values[4], argument(4)),
                                           .axis = read<std::int64_t>(values[5], argument(5)),
                                           .joined_axis = read<std::int64_t>(values[6], argument(6)),
                                           .sizes = read_optional<Dims>(values[7], argument(7)),
                                           .received = read_optional<Dims>(values[8], argument(8)),
                                           .group = read<std::string_view>(values[9], argument(9))};
    const distributed::Form form =
        distributed::form_of(read_pattern(values[0], argument(0)), x, arguments, signature.function());
    return wrap_work(read<bool>(values[10], argument(10)) ? distributed::start_in_place(x, form)
                                                          : distributed::start(x, form));
  });
}

PyObject* start_barrier(PyObject*, PyObject* name) {
  return guarded([&] {
    static const Signature signature("barrier", "group, /");
    const auto group = distributed::find_group(read_string(name, {signature, 0}));
    const auto nothing = [] { return std::string(); };
    return wrap_work(
        {group->start("barrier", nothing,
                      [](distributed::Backend& backend, Milliseconds timeout) { backend.barrier(timeout); }),
         nullptr});
  });
}

PyMethodDef functions[] = {
    {"_distributed_init", as_c_function(init), METH_FASTCALL | METH_KEYWORDS,
     "_distributed_init(backend, rank, size, timeout, debug, store_address, store, address, interface, devices, "
     "library)\n--\n\n"
     "Connects to the other processes and makes the default group."},
    {"_distributed_new_group", as_c_function(new_group), METH_FASTCALL | METH_KEYWORDS,
     "_distributed_new_group(parent, name, ranks)\n--\n\nMakes a group of some of the parent's processes."},
    {"_distributed_group", find, METH_O, "_distributed_group(name, /)\n--\n\nReturns a group by its name."},
    {"_distributed_has_default", has_default, METH_NOARGS,
     "_distributed_has_default()\n--\n\nTrue if there is a default group."},
    {"_distributed_remove", remove, METH_O, "_distributed_remove(name, /)\n--\n\nLeaves a group."},
    {"_distributed_load", load, METH_O,
     "_distributed_load(backend, /)\n--\n\nLoads a backend; RuntimeError if it is not here."},
    {"_distributed_load_devices", as_c_function(load_devices), METH_FASTCALL | METH_KEYWORDS,
     "_distributed_load_devices(backend, library, /)\n--\n\nLoads a backend of devices; RuntimeError if it is not "
     "here."},
    {"_distributed_start", as_c_function(start), METH_FASTCALL | METH_KEYWORDS,
     "_distributed_start(pattern, x, *, op='sum', root=0, tag=0, axis=0, concat_axis=0, sizes=None, received=None, "
     "group='', in_place=False)\n--\n\nStarts a collective operation and returns its Work."},
    {"_distributed_barrier", start_barrier, METH_O,
     "_distributed_barrier(group, /)\n--\n\nStarts a barrier and returns its Work."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void add_distributed(PyObject* module) {
  static PyType_Slot group_slots[] = {
      {Py_tp_dealloc, reinterpret_cast<void*>(dealloc<GroupObject, &GroupObject::group>)},
      {Py_tp_repr, reinterpret_cast<void*>(group_repr)},
      {Py_tp_getset, group_attributes},
      {Py_tp_doc, const_cast<char*>("Processes that work together; init_process_group and new_group make them.")},
      {0, nullptr},
  };
  static PyType_Slot work_slots[] = {
      {Py_tp_dealloc, reinterpret_cast<void*>(dealloc<WorkObject, &WorkObject::pending>)},
      {Py_tp_methods, work_methods},
      {Py_tp_doc, const_cast<char*>("A collective operation that was started, with async_op=True, and may still run.")},
      {0, nullptr},
  };
  group_type =
      new_type<GroupObject>("lamella.distributed.ProcessGroup", group_slots, Py_TPFLAGS_DISALLOW_INSTANTIATION);
  work_type = new_type<WorkObject>("lamella.distributed.Work", work_slots, Py_TPFLAGS_DISALLOW_INSTANTIATION);
  checked(PyModule_AddObjectRef(module, "_ProcessGroup", reinterpret_cast<PyObject*>(group_type)));
  checked(PyModule_AddObjectRef(module, "_Work", reinterpret_cast<PyObject*>(work_type)));
  PyObject* const error_type = checked(PyErr_NewExceptionWithDoc(
      "lamella.distributed.DistributedError",
      "A collective operation failed because of another process or of the network: a process that died or did not\n"
      "answer in time, or calls that do not fit together. The message names the group, the operation with its number,\n"
      "and the ranks that are missing.",
      PyExc_RuntimeError, nullptr));
  checked(PyModule_AddObjectRef(module, "_DistributedError", error_type));
  raise_distributed_errors_as(error_type);
  checked(PyModule_AddFunctions(module, functions));
}

}  // namespace lamella::python
