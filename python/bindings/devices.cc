#include "python/bindings/devices.h"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/runtime/device_backend.h"
#include "engine/runtime/device_query.h"
#include "python/bindings/convert.h"
#include "python/bindings/errors.h"
#include "python/bindings/method.h"
#include "python/bindings/signature.h"

namespace lamella::python {
namespace {

PyObject* text(std::string_view value) {
  return checked(PyUnicode_FromStringAndSize(value.data(), static_cast<Py_ssize_t>(value.size())));
}

PyObject* rename_backend(PyObject*, PyObject* value) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("rename_privateuse1_backend", "name, /");
    rename_privateuse1_backend(read_text(value, {signature, 0}));
    Py_RETURN_NONE;
  });
}

PyObject* backend_name(PyObject*, PyObject*) {
  return guarded([] { return text(privateuse1_backend_name()); });
}

PyObject* backend_is_there(PyObject*, PyObject*) { return PyBool_FromLong(has_device_backend()); }

PyObject* backend_count(PyObject*, PyObject*) { return PyLong_FromLong(device_count(DeviceType::PrivateUse1)); }

/// Reads a device of the registered backend, from an index or a text.
Device read_backend_device(PyObject* value, const Argument& argument) {
  Device device(DeviceType::PrivateUse1, current_device_index());
  if (PyLong_Check(value)) {
    const std::int64_t index = read_int(value, argument);
    device = Device(DeviceType::PrivateUse1, index < 0 || index > 127 ? -1 : static_cast<int>(index));
  } else if (value != Py_None) {
    device = read_device(value, argument);
  }
  if (device.type != DeviceType::PrivateUse1) {
    argument.wrong_value(str("expected a device of the kind ", privateuse1_backend_name(), ", got ", device));
  }
  device_backend(device);
  return device;
}

PyObject* synchronize_device(PyObject*, PyObject* value) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("synchronize", "device, /");
    synchronize(read_backend_device(value, {signature, 0}));
    Py_RETURN_NONE;
  });
}

PyObject* get_current_device(PyObject*, PyObject*) { return PyLong_FromLong(current_device_index()); }

PyObject* set_current_device(PyObject*, PyObject* value) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("set_device", "device, /");
    set_current_device_index(read_backend_device(value, {signature, 0}).index);
    Py_RETURN_NONE;
  });
}

/// Table of the streams made by Python, by id.
struct Streams {
  struct Entry {
    std::int64_t id;
    std::shared_ptr<BackendStream> stream;
  };
  std::mutex mutex;
  std::vector<Entry> all;
  std::int64_t last = 0;
};

/// The table is never destroyed, as streams may outlive the interpreter.
Streams& streams() {
  static auto* const known = new Streams;
  return *known;
}

std::shared_ptr<BackendStream> stream_of(std::int64_t id) {
  const std::lock_guard lock(streams().mutex);
  const auto found = std::ranges::find(streams().all, id, &Streams::Entry::id);
  if (found == streams().all.end()) fail<ValueError>("[stream] there is no such stream: it was destroyed");
  return found->stream;
}

PyObject* make_stream(PyObject*, PyObject* value) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("Stream", "device, /");
    const Device device = read_backend_device(value, {signature, 0});
    auto made = std::make_shared<BackendStream>(device);
    const std::lock_guard lock(streams().mutex);
    const std::int64_t id = ++streams().last;
    streams().all.push_back({id, std::move(made)});
    return checked(Py_BuildValue("(LN)", static_cast<long long>(id), text(device.str())));
  });
}

PyObject* end_stream(PyObject*, PyObject* value) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("Stream", "stream, /");
    const std::int64_t id = read_int(value, {signature, 0});
    std::shared_ptr<BackendStream> gone;  // destroyed after the lock is released, as that waits for the stream
    {
      const std::lock_guard lock(streams().mutex);
      const auto found = std::ranges::find(streams().all, id, &Streams::Entry::id);
      if (found == streams().all.end()) Py_RETURN_NONE;
      gone = std::move(found->stream);
      streams().all.erase(found);
    }
    Py_RETURN_NONE;
  });
}

PyObject* synchronize_stream(PyObject*, PyObject* value) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("synchronize", "stream, /");
    stream_of(read_int(value, {signature, 0}))->synchronize();
    Py_RETURN_NONE;
  });
}

PyObject* set_current_stream(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("stream", "device, stream, /");
    const auto values = signature.bound<2>(args, count, keywords);
    const Device device = read_backend_device(values[0], {signature, 0});
    const std::int64_t id = read_int(values[1], {signature, 1});
    std::shared_ptr<BackendStream> given;
    if (id != 0) {
      given = stream_of(id);
      if (given->device() != device) {
        fail<ValueError>("[stream] expected a stream of ", device, ", got one of ", given->device());
      }
    }
    // Each thread owns its current streams, so that they outlive their Python objects.
    thread_local std::map<int, std::shared_ptr<BackendStream>> current;
    set_backend_stream(device, given ? given->get() : nullptr);
    current[device.index].swap(given);
    Py_RETURN_NONE;
  });
}

PyMethodDef device_method_defs[] = {
    {"_privateuse1_rename", rename_backend, METH_O,
     "_privateuse1_rename(name, /)\n--\n\nNames the devices that an extension brings."},
    {"_privateuse1_name", backend_name, METH_NOARGS,
     "_privateuse1_name()\n--\n\nThe name of the devices that an extension brings."},
    {"_privateuse1_is_there", backend_is_there, METH_NOARGS,
     "_privateuse1_is_there()\n--\n\nTrue if an extension has brought devices."},
    {"_privateuse1_count", backend_count, METH_NOARGS,
     "_privateuse1_count()\n--\n\nNumber of devices that an extension has brought."},
    {"_privateuse1_synchronize", synchronize_device, METH_O,
     "_privateuse1_synchronize(device, /)\n--\n\nWaits for all work on a device."},
    {"_privateuse1_current", get_current_device, METH_NOARGS,
     "_privateuse1_current()\n--\n\nThe device that the name without an index stands for on this thread."},
    {"_privateuse1_set_current", set_current_device, METH_O,
     "_privateuse1_set_current(device, /)\n--\n\nMakes another device the current one of this thread."},
    {"_privateuse1_make_stream", make_stream, METH_O,
     "_privateuse1_make_stream(device, /)\n--\n\nA new stream: its number and its device."},
    {"_privateuse1_end_stream", end_stream, METH_O,
     "_privateuse1_end_stream(stream, /)\n--\n\nWaits for a stream's work and ends it."},
    {"_privateuse1_synchronize_stream", synchronize_stream, METH_O,
     "_privateuse1_synchronize_stream(stream, /)\n--\n\nWaits for a stream's work."},
    {"_privateuse1_set_stream", as_c_function(set_current_stream), METH_FASTCALL | METH_KEYWORDS,
     "_privateuse1_set_stream(device, stream, /)\n--\n\n"
     "Sends this thread's work on a device to a stream; to the device's own for 0."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

PyMethodDef* device_functions() { return device_method_defs; }

}  // namespace lamella::python
