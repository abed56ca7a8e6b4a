#include "python/bindings/dlpack.h"

#include <climits>
#include <cstdint>

#include "engine/autograd/backward/lent.h"
#include "engine/core/exports.h"
#include "engine/core/foreign.h"
#include "engine/runtime/streams.h"
#include "ops/movement/cast.h"
#include "python/bindings/convert.h"
#include "python/bindings/errors.h"
#include "python/bindings/numpy.h"
#include "python/bindings/py_ref.h"
#include "python/bindings/signature.h"
#include "python/bindings/tensor_object.h"

namespace lamella::python {
namespace {

// The structures of DLPack 1.0, as https://dmlc.github.io/dlpack lays them down.
namespace dl {

enum DeviceType : std::int32_t { kCpu = 1, kCuda = 2, kCudaHost = 3 };
enum TypeCode : std::uint8_t { kInt = 0, kUInt = 1, kFloat = 2, kBfloat = 4, kComplex = 5, kBool = 6 };
constexpr std::uint64_t kReadOnly = 1;
constexpr std::uint64_t kIsCopied = 2;

struct Device {
  std::int32_t type;
  std::int32_t index;
};
struct DataType {
  std::uint8_t code;
  std::uint8_t bits;
  std::uint16_t lanes;
};
struct Array {
  void* data;
  Device device;
  std::int32_t ndim;
  DataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;
  std::uint64_t byte_offset;
};
struct Managed {
  Array array;
  void* context;
  void (*deleter)(Managed*);
};
struct Version {
  std::uint32_t major;
  std::uint32_t minor;
};
struct ManagedVersioned {
  Version version;
  void* context;
  void (*deleter)(ManagedVersioned*);
  std::uint64_t flags;
  Array array;
};

}  // namespace dl

constexpr const char* kName = "dltensor";
constexpr const char* kUsedName = "used_dltensor";
constexpr const char* kVersionedName = "dltensor_versioned";
constexpr const char* kUsedVersionedName = "used_dltensor_versioned";

dl::DataType type_of(DType dtype) {
  const auto bits = static_cast<std::uint8_t>(8 * item_size(dtype));
  if (dtype == DType::Bool) return {dl::kBool, 8, 1};
  if (dtype == DType::BFloat16) return {dl::kBfloat, bits, 1};
  if (is_complex(dtype)) return {dl::kComplex, bits, 1};
  if (is_floating(dtype)) return {dl::kFloat, bits, 1};
  return {SignedInteger.contains(dtype) ? dl::kInt : dl::kUInt, bits, 1};
}

DType dtype_of_type(dl::DataType type, const char* op) {
  for (std::size_t i = 0; i < kDTypeCount; ++i) {
    const dl::DataType ours = type_of(static_cast<DType>(i));
    if (ours.code == type.code && ours.bits == type.bits && type.lanes == 1) return static_cast<DType>(i);
  }
  fail<TypeError>("[", op, "] no dtype corresponds to DLPack type ", int{type.code}, " with ", int{type.bits},
                  " bits and ", type.lanes, " lanes");
}

dl::Device device_of(const Tensor& x) {
  if (x.device().is_cpu()) return {dl::kCpu, 0};
  if (x.device().is_cuda()) return {dl::kCuda, x.device().index};
  fail<RuntimeError>("[__dlpack__] DLPack has no device for ", x.device());
}

[[noreturn]] void buffer_error(const char* op, const char* what) {
  PyErr_SetString(PyExc_BufferError, lamella::str("[", op, "] ", what).c_str());
  throw_python_error();
}

/// Returns CUDA's own address for a stream as DLPack numbers them: 1 is the default one.
void* stream_of(std::int64_t number) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the consumer's stream
  return number <= 1 ? nullptr : reinterpret_cast<void*>(static_cast<std::uintptr_t>(number));
}

/// Has a consumer's stream wait for the work on x so far; -1 asks for no order, None for the default stream.
void order_for_consumer(const Tensor& x, PyObject* stream, const Argument& argument) {
  if (!x.device().is_cuda()) {
    if (stream != Py_None && x.device().is_cpu()) argument.wrong_value("expected None for a tensor on the CPU");
    return;
  }
  const std::int64_t number = stream == Py_None ? 1 : read_int(stream, argument);
  if (number < -1 || number == 0)
    argument.wrong_value(str("expected -1, 1, 2 or the address of a stream, got ", number));
  if (number == -1) return;
  StreamRuntime& runtime = stream_runtime(x.device());
  runtime.order(x.device(), runtime.current(x.device()), stream_of(number));
}

/// Holds what an exported array refers to until its consumer calls the deleter.
template <class M>
struct Exported {
  Exported(const Tensor& x, std::uint32_t holders) : foreign(*x->storage, may_be_saved(x, holders)), tensor(x) {}

  M managed{};
  const Export foreign;
  Tensor tensor;
  Dims shape;
  Dims strides;
};

template <class M>
M* export_tensor(const Tensor& x, std::uint32_t holders) {
  if (x->hidden) x.refuse_batched("__dlpack__");
  if (x->storage->has_mark(Storage::kLent)) autograd::end_loan(*x->storage);
  auto* made = new Exported<M>(x, holders);
  made->shape = x.shape();
  made->strides = x.strides();
  made->managed.array = {x.raw_data(),
                         device_of(x),
                         static_cast<std::int32_t>(x.ndim()),
                         type_of(x.dtype()),
                         made->shape.data(),
                         made->strides.data(),
                         0};
  made->managed.context = made;
  made->managed.deleter = [](M* self) { delete static_cast<Exported<M>*>(self->context); };
  return &made->managed;
}

/// Destroys a capsule that no consumer took.
template <class M>
void drop_capsule(PyObject* capsule, const char* name) {
  if (!PyCapsule_IsValid(capsule, name)) return;
  auto* managed = static_cast<M*>(PyCapsule_GetPointer(capsule, name));
  if (managed->deleter) managed->deleter(managed);
}

template <class M>
void free_managed(void* context) {
  auto* managed = static_cast<M*>(context);
  if (!managed->deleter || !python_is_alive()) return;
  const GilHold gil;  // the owner may be a Python object
  managed->deleter(managed);
}

template <class M>
Tensor take(PyObject* capsule, const char* name, const char* used_name, const char* op, bool may_copy) {
  auto* managed = static_cast<M*>(checked(PyCapsule_GetPointer(capsule, name)));
  const dl::Array& array = managed->array;
  bool read_only = false;
  if constexpr (std::is_same_v<M, dl::ManagedVersioned>) {
    if (managed->version.major > 1)
      fail<ValueError>("[", op, "] DLPack version ", managed->version.major, " is not supported, expected at most 1");
    read_only = (managed->flags & dl::kReadOnly) != 0;
  }
  Device device;
  if (array.device.type == dl::kCuda) {
    device = Device(DeviceType::CUDA, array.device.index);
  } else if (array.device.type != dl::kCpu && array.device.type != dl::kCudaHost) {
    fail<ValueError>("[", op, "] DLPack device type ", array.device.type,
                     " is not supported, expected the CPU or CUDA");
  }
  const DType dtype = dtype_of_type(array.dtype, op);
  const Dims shape(array.shape, array.shape + array.ndim);
  const Dims strides = array.strides ? Dims(array.strides, array.strides + array.ndim) : contiguous_strides(shape);
  count_elements(shape);  // checks the sizes before anything is taken
  checked(PyCapsule_SetName(capsule, used_name));
  Tensor x = from_memory(static_cast<char*>(array.data) + array.byte_offset, shape, strides, dtype, device,
                         free_managed<M>, managed);
  note_imported(x);
  bool backwards = false;
  for (const std::int64_t stride : strides) backwards |= stride < 0;
  if (read_only) x->storage->set_mark(Storage::kReadOnly);
  const Tensor clean = with_bools_of_one(x);
  if (!read_only && !backwards && clean.same(x)) return x;
  if (!may_copy) {
    buffer_error(op, read_only   ? "copy=False, but the array is read-only"
                     : backwards ? "copy=False, but the array runs backwards"
                                 : "copy=False, but the array has bools that are neither 0 nor 1");
  }
  return clean.same(x) ? clone(x) : clean;
}

/// Reads a pair of ints, (device type, index) or (major, minor), as DLPack's arguments have them.
std::pair<int, int> read_pair(PyObject* object, const Argument& argument) {
  if (!PyTuple_Check(object) || PyTuple_GET_SIZE(object) != 2) argument.wrong_type("a tuple of two ints", object);
  const auto part = [&](Py_ssize_t i) {
    // A member of an enumeration counts as its value.
    const PyRef number = PyRef::adopt(checked(PyNumber_Long(PyTuple_GET_ITEM(object, i))));
    const long value = PyLong_AsLong(number.get());
    if (value == -1 && PyErr_Occurred()) throw_python_error();
    if (value < 0 || value > INT_MAX) argument.wrong_value(str("expected ints in [0, 2**31), got ", value));
    return static_cast<int>(value);
  };
  return {part(0), part(1)};
}

/// Returns the number of this thread's current stream on the device of a producer of CUDA, and 0 for others.
std::int64_t own_stream_number(PyObject* object) {
  const PyRef method = PyRef::adopt(PyObject_GetAttrString(object, "__dlpack_device__"));
  if (!method) {
    PyErr_Clear();
    return 0;
  }
  const PyRef device = PyRef::adopt(checked(PyObject_CallNoArgs(method.get())));
  static const Signature signature("__dlpack_device__", "device");
  const auto [type, index] = read_pair(device.get(), {signature, 0});
  if (type != dl::kCuda) return 0;
  const Device there(DeviceType::CUDA, index);
  void* const stream = stream_runtime(there).current(there);
  return stream ? static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(stream)) : 1;
}

}  // namespace

PyObject* tensor_dlpack(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("__dlpack__", "*, stream=None, max_version=None, dl_device=None, copy=None");
    const auto values = signature.bound<4>(args, count, keywords);
    const Tensor own = tensor_of(self);
    Tensor x = own;
    leave_tape(x, "__dlpack__");
    const bool never = values[3] == Py_False;
    if (values[2] != Py_None) {
      const auto [type, index] = read_pair(values[2], {signature, 2});
      const dl::Device here = device_of(x);
      if (type != here.type || index != here.index) {
        if (type != dl::kCpu) buffer_error("__dlpack__", "a tensor can be copied to the CPU only");
        if (never) buffer_error("__dlpack__", "copy=False, but the tensor is on another device");
        x = to_device(x, kCPU);
      }
    }
    if (values[3] != Py_None && read<bool>(values[3], {signature, 3}) && x.same(own)) x = clone(x);
    bool versioned = false;
    if (values[1] != Py_None) versioned = read_pair(values[1], {signature, 1}).first >= 1;
    order_for_consumer(x, values[0], {signature, 0});
    const std::uint32_t holders = x.same(own) ? 3 : 1;  // the object, `own` and `x`
    if (!versioned) {
      dl::Managed* managed = export_tensor<dl::Managed>(x, holders);
      return checked(
          PyCapsule_New(managed, kName, [](PyObject* capsule) { drop_capsule<dl::Managed>(capsule, kName); }));
    }
    dl::ManagedVersioned* managed = export_tensor<dl::ManagedVersioned>(x, holders);
    managed->version = {1, 0};
    managed->flags = (x->storage->has_mark(Storage::kReadOnly) ? dl::kReadOnly : 0) | (x.same(own) ? 0 : dl::kIsCopied);
    return checked(PyCapsule_New(managed, kVersionedName, [](PyObject* capsule) {
      drop_capsule<dl::ManagedVersioned>(capsule, kVersionedName);
    }));
  });
}

PyObject* tensor_dlpack_device(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    const dl::Device device = device_of(tensor_of(self));
    return Py_BuildValue("(ii)", device.type, device.index);
  });
}

Tensor tensor_from_dlpack(PyObject* object, const char* op, bool may_copy) {
  PyRef capsule = PyRef::share(object);
  if (!PyCapsule_CheckExact(object)) {
    const PyRef method = PyRef::adopt(PyObject_GetAttrString(object, "__dlpack__"));
    if (!method) {
      PyErr_Clear();
      fail<TypeError>("[", op, "] expected an object with __dlpack__ or a DLPack capsule, got ", type_name(object));
    }
    const PyRef none = PyRef::adopt(checked(PyTuple_New(0)));
    const PyRef options = PyRef::adopt(checked(Py_BuildValue("{s:(ii)}", "max_version", 1, 0)));
    if (const std::int64_t stream = own_stream_number(object); stream != 0) {
      const PyRef value = PyRef::adopt(checked(PyLong_FromLongLong(stream)));
      checked(PyDict_SetItemString(options.get(), "stream", value.get()));
    }
    capsule = PyRef::adopt(PyObject_Call(method.get(), none.get(), options.get()));
    if (!capsule && PyErr_ExceptionMatches(PyExc_TypeError)) {
      // A __dlpack__ without `max_version` was written before the protocol had versions.
      PyErr_Clear();
      capsule = PyRef::adopt(PyObject_CallNoArgs(method.get()));
    }
    if (!capsule) throw_python_error();
  }
  if (PyCapsule_IsValid(capsule.get(), kVersionedName)) {
    return take<dl::ManagedVersioned>(capsule.get(), kVersionedName, kUsedVersionedName, op, may_copy);
  }
  if (PyCapsule_IsValid(capsule.get(), kName)) return take<dl::Managed>(capsule.get(), kName, kUsedName, op, may_copy);
  fail<ValueError>("[", op, "] the capsule holds no DLPack tensor, or one that was taken already");
}

}  // namespace lamella::python
