#include "python/bindings/runtime.h"

#include "engine/core/allocator.h"
#include "engine/core/default_device.h"
#include "engine/runtime/device_query.h"
#include "engine/runtime/parallel.h"
#include "ops/linalg/openblas.h"
#include "ops/runtime/cpu_loader.h"
#include "ops/runtime/onednn.h"
#include "python/bindings/convert.h"
#include "python/bindings/errors.h"
#include "python/bindings/method.h"
#include "python/bindings/signature.h"

namespace lamella::python {
namespace {

PyObject* number(std::int64_t value) { return checked(PyLong_FromLongLong(value)); }

/// Calls `Function` for a device, "cpu" by default.
template <auto Function>
PyObject* of_device(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("memory", "device='cpu'");
    PyObject* value = nullptr;
    signature.bind(args, count, keywords, &value);
    return Function(read_device(value, {signature, 0}));
  });
}

PyObject* reset_peak_memory(Device device) {
  if (!device.is_meta()) allocator(device).reset_peak();
  Py_RETURN_NONE;
}

PyObject* empty_cache(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("empty_cache", "device=None");
    PyObject* value = nullptr;
    signature.bind(args, count, keywords, &value);
    if (const auto device = read_optional<Device>(value, {signature, 0})) {
      if (!device->is_meta()) allocator(*device).empty_cache();
      Py_RETURN_NONE;
    }
    allocator(kCPU).empty_cache();
    for (const DeviceType type : {DeviceType::CUDA, DeviceType::PrivateUse1}) {
      for (int i = 0; i < device_count(type); ++i) allocator(Device(type, i)).empty_cache();
    }
    Py_RETURN_NONE;
  });
}

PyObject* get_default_device(PyObject*, PyObject*) {
  return guarded([] {
    const std::string device = default_device().str();
    return checked(PyUnicode_FromStringAndSize(device.data(), static_cast<Py_ssize_t>(device.size())));
  });
}

PyObject* set_default_device_function(PyObject*, PyObject* value) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("set_default_device", "device, /");
    const Device device = read_device(value, {signature, 0});
    if (!device.is_meta()) static_cast<void>(allocator(device));  // raises where there is no such device
    set_default_device(device);
    Py_RETURN_NONE;
  });
}

PyObject* get_num_threads(PyObject*, PyObject*) {
  return guarded([] { return number(thread_count()); });
}

PyObject* set_num_threads(PyObject*, PyObject* value) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("set_num_threads", "count, /");
    const std::int64_t count = read_int(value, {signature, 0});
    if (count < 1 || count > 65536) Argument{signature, 0}.wrong_value(str("expected 1 to 65536 threads, got ", count));
    set_thread_count(static_cast<int>(count));
    Py_RETURN_NONE;
  });
}

PyObject* cuda_is_available(PyObject*, PyObject*) { return PyBool_FromLong(cuda::is_available()); }

PyObject* cuda_device_count(PyObject*, PyObject*) { return PyLong_FromLong(cuda::device_count()); }

PyObject* cuda_synchronize(PyObject*, PyObject*) {
  return guarded([]() -> PyObject* {
    {
      const HostRelease release(INT64_MAX);
      cuda::synchronize();
    }
    Py_RETURN_NONE;
  });
}

#ifdef LAMELLA_WITH_CUDA
constexpr bool kWithCuda = true;
#else
constexpr bool kWithCuda = false;
#endif
#ifdef LAMELLA_OPENMP
constexpr const char* kThreads = "OpenMP";
#else
constexpr const char* kThreads = "std::thread";
#endif

PyObject* config(PyObject*, PyObject*) {
  return guarded([]() -> PyObject* {
    const std::string isa(cpu::instruction_set());
    const std::string onednn = lamella::detail::describe_onednn();
    const std::string lapack = linalg::describe_openblas();
    return checked(Py_BuildValue("{s:s, s:s, s:s, s:s, s:i, s:s, s:s, s:O, s:i}", "version", LAMELLA_VERSION,
                                 "compiler", "C++ " __VERSION__, "cpu kernels", isa.c_str(), "parallel loops", kThreads,
                                 "threads", thread_count(), "oneDNN", onednn.c_str(), "LAPACK", lapack.c_str(),
                                 "built with CUDA", kWithCuda ? Py_True : Py_False, "CUDA devices",
                                 cuda::device_count()));
  });
}

PyObject* raise_errors_as_function(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded([&]() -> PyObject* {
    PyObject* const replaced[] = {PyExc_ValueError, PyExc_TypeError, PyExc_IndexError, PyExc_MemoryError};
    if (count != 4) fail<TypeError>("[raise_errors_as] takes 4 classes, got ", count);
    for (std::size_t i = 0; i < 4; ++i) {
      if (!PyType_Check(args[i]) || checked(PyObject_IsSubclass(args[i], replaced[i])) == 0)
        fail<TypeError>("[raise_errors_as] argument ", i + 1, " must be a subclass of ",
                        reinterpret_cast<PyTypeObject*>(replaced[i])->tp_name);
    }
    raise_errors_as(args[0], args[1], args[2], args[3]);
    Py_RETURN_NONE;
  });
}

PyMethodDef runtime_method_defs[] = {
    {"memory_allocated", as_c_function(of_device<[](Device d) { return number(memory_stats(d).allocated); }>),
     METH_FASTCALL | METH_KEYWORDS, "memory_allocated(device='cpu')\n--\n\nBytes that tensors hold on a device."},
    {"max_memory_allocated", as_c_function(of_device<[](Device d) { return number(memory_stats(d).peak_allocated); }>),
     METH_FASTCALL | METH_KEYWORDS,
     "max_memory_allocated(device='cpu')\n--\n\nThe most bytes that tensors have held on a device since the last "
     "reset_peak_memory."},
    {"memory_reserved", as_c_function(of_device<[](Device d) { return number(memory_stats(d).reserved); }>),
     METH_FASTCALL | METH_KEYWORDS,
     "memory_reserved(device='cpu')\n--\n\nBytes taken from the system: those that tensors hold, and those kept for "
     "reuse."},
    {"reset_peak_memory", as_c_function(of_device<reset_peak_memory>), METH_FASTCALL | METH_KEYWORDS,
     "reset_peak_memory(device='cpu')\n--\n\nStarts max_memory_allocated anew, from what is held now."},
    {"empty_cache", as_c_function(empty_cache), METH_FASTCALL | METH_KEYWORDS,
     "empty_cache(device=None)\n--\n\nGives memory that no tensor holds back to the system, on one device or on all."},
    {"get_default_device", get_default_device, METH_NOARGS,
     "get_default_device()\n--\n\nThe device of tensors that this thread makes where no device is given."},
    {"set_default_device", set_default_device_function, METH_O,
     "set_default_device(device, /)\n--\n\nSets the device of tensors that this thread makes from numbers, lists and "
     "numpy's arrays, and by functions such as `zeros` and\n`rand`, where neither a device nor a tensor is given."},
    {"get_num_threads", get_num_threads, METH_NOARGS, "get_num_threads()\n--\n\nThreads that one operation may use."},
    {"set_num_threads", set_num_threads, METH_O,
     "set_num_threads(count, /)\n--\n\nSets how many threads one operation may use."},
    {"cuda_is_available", cuda_is_available, METH_NOARGS,
     "cuda_is_available()\n--\n\nTrue if there is a CUDA device to compute on."},
    {"cuda_device_count", cuda_device_count, METH_NOARGS, "cuda_device_count()\n--\n\nThe number of CUDA devices."},
    {"cuda_synchronize", cuda_synchronize, METH_NOARGS,
     "cuda_synchronize()\n--\n\nWaits for all work on CUDA devices."},
    {"_raise_errors_as", as_c_function(raise_errors_as_function), METH_FASTCALL,
     "_raise_errors_as(value_error, type_error, index_error, memory_error, /)\n--\n\nSets for the process the "
     "subclasses "
     "of ValueError, TypeError, IndexError and MemoryError that are raised in their place."},
    {"_config", config, METH_NOARGS,
     "_config()\n--\n\nReturns how this library was built and what it runs on, as a dict."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

PyMethodDef* runtime_functions() { return runtime_method_defs; }

}  // namespace lamella::python
