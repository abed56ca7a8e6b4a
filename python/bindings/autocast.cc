#include "python/bindings/autocast.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string_view>

#include "engine/autograd/autocast/autocast.h"
#include "engine/runtime/cudnn_setting.h"
#include "engine/runtime/deterministic.h"
#include "engine/runtime/matmul_precision.h"
#include "python/bindings/convert.h"
#include "python/bindings/dtype_type.h"
#include "python/bindings/errors.h"
#include "python/bindings/method.h"
#include "python/bindings/py_ref.h"
#include "python/bindings/signature.h"

namespace lamella::python {
namespace {

using autograd::AutocastState;

constexpr const char* kBeforeCapsule = "lamella.AutocastBefore";
/// Devices whose autocast dtypes a state tuple holds, in the tuple's order.
constexpr DeviceType kDevices[] = {DeviceType::CPU, DeviceType::CUDA};

PyRef dtype_or_none(const AutocastState::OnDevice& device) {
  return device.enabled ? PyRef::adopt(dtype_object(device.dtype)) : PyRef::share(Py_None);
}

PyObject* autocast_state(PyObject*, PyObject*) {
  return guarded([]() -> PyObject* {
    const AutocastState state = AutocastState::now();
    const PyRef cpu = dtype_or_none(state.on(DeviceType::CPU));
    const PyRef cuda = dtype_or_none(state.on(DeviceType::CUDA));
    return checked(PyTuple_Pack(3, cpu.get(), cuda.get(), state.cache_enabled ? Py_True : Py_False));
  });
}

PyObject* enter_autocast(PyObject*, PyObject* value) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("autocast", "dtype, /");
    if (!PyTuple_Check(value) || PyTuple_GET_SIZE(value) != 3)
      Argument{signature, 0}.wrong_type("a state that _autocast_state returned", value);
    AutocastState state;
    for (Py_ssize_t i = 0; i < 2; ++i) {
      const auto dtype = read_optional<DType>(PyTuple_GET_ITEM(value, i), {signature, 0});
      if (dtype) state.on(kDevices[i]) = {true, *dtype};
    }
    state.cache_enabled = read<bool>(PyTuple_GET_ITEM(value, 2), {signature, 0});
    auto before = std::make_unique<autograd::AutocastBefore>();
    PyRef capsule = PyRef::adopt(checked(PyCapsule_New(before.get(), kBeforeCapsule, [](PyObject* self) {
      delete static_cast<autograd::AutocastBefore*>(PyCapsule_GetPointer(self, kBeforeCapsule));
    })));
    autograd::AutocastBefore& kept = *before.release();
    kept = autograd::enter_autocast(state);
    return capsule.release();
  });
}

PyObject* leave_autocast(PyObject*, PyObject* capsule) {
  return guarded([&]() -> PyObject* {
    const auto* before =
        static_cast<const autograd::AutocastBefore*>(checked(PyCapsule_GetPointer(capsule, kBeforeCapsule)));
    autograd::leave_autocast(*before);
    Py_RETURN_NONE;
  });
}

DeviceType read_device_type(PyObject* value, const Argument& argument) {
  const Device device = read_device(value, argument);
  if (device.type != DeviceType::CPU && device.type != DeviceType::CUDA)
    argument.wrong_value(str("expected a device of type cpu or cuda, got ", device));
  return device.type;
}

PyObject* get_autocast_dtype(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("get_autocast_dtype", "device_type='cpu'");
    PyObject* value = nullptr;
    signature.bind(args, count, keywords, &value);
    return dtype_object(autograd::autocast_dtype(read_device_type(value, {signature, 0})));
  });
}

PyObject* set_autocast_dtype(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("set_autocast_dtype", "device_type, dtype");
    const auto values = signature.bound<2>(args, count, keywords);
    const DeviceType type = read_device_type(values[0], {signature, 0});
    autograd::set_autocast_dtype(type, read_dtype(values[1], {signature, 1}));
    Py_RETURN_NONE;
  });
}

PyObject* set_deterministic(PyObject*, PyObject* value) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("use_deterministic_algorithms", "mode, /");
    use_deterministic_algorithms(read<bool>(value, {signature, 0}));
    Py_RETURN_NONE;
  });
}

PyObject* is_deterministic(PyObject*, PyObject*) { return PyBool_FromLong(are_deterministic_algorithms_enabled()); }

/// Names of the formats, in the order of MatmulPrecision.
constexpr std::array<const char*, 3> kPrecisions{"highest", "high", "medium"};

PyObject* set_matmul_precision(PyObject*, PyObject* value) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("set_float32_matmul_precision", "precision, /");
    const auto name = read<std::string_view>(value, {signature, 0});
    const auto* const found = std::ranges::find(kPrecisions, name);
    if (found == kPrecisions.end()) {
      fail<ValueError>("[set_float32_matmul_precision] precision must be \"highest\", \"high\" or \"medium\", got \"",
                       name, "\"");
    }
    set_float32_matmul_precision(static_cast<MatmulPrecision>(found - kPrecisions.begin()));
    Py_RETURN_NONE;
  });
}

PyObject* get_matmul_precision(PyObject*, PyObject*) {
  return PyUnicode_FromString(kPrecisions[static_cast<std::size_t>(float32_matmul_precision())]);
}

PyObject* set_cudnn(PyObject*, PyObject* value) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("set_cudnn_enabled", "enabled, /");
    set_cudnn_enabled(read<bool>(value, {signature, 0}));
    Py_RETURN_NONE;
  });
}

PyObject* is_cudnn(PyObject*, PyObject*) { return PyBool_FromLong(is_cudnn_enabled()); }

PyObject* version_of_cudnn(PyObject*, PyObject*) {
  return guarded([&]() -> PyObject* {
    if (const std::size_t version = cudnn_version()) return PyLong_FromSize_t(version);
    Py_RETURN_NONE;
  });
}

PyMethodDef autocast_method_defs[] = {
    {"_autocast_state", autocast_state, METH_NOARGS,
     "_autocast_state()\n--\n\nThis thread's dtypes on the CPU and on CUDA (None: off), and whether copies are kept."},
    {"_enter_autocast", enter_autocast, METH_O,
     "_enter_autocast(state, /)\n--\n\nEnters a state; returns what _leave_autocast takes."},
    {"_leave_autocast", leave_autocast, METH_O, "_leave_autocast(before, /)\n--\n\nLeaves a state."},
    {"get_autocast_dtype", as_c_function(get_autocast_dtype), METH_FASTCALL | METH_KEYWORDS,
     "get_autocast_dtype(device_type='cpu')\n--\n\nThe dtype that autocast has on a device, or takes where none is "
     "named."},
    {"set_autocast_dtype", as_c_function(set_autocast_dtype), METH_FASTCALL | METH_KEYWORDS,
     "set_autocast_dtype(device_type, dtype)\n--\n\nSets the dtype that autocast takes on a device where none is "
     "named: "
     "bfloat16 or float16."},
    {"use_deterministic_algorithms", set_deterministic, METH_O,
     "use_deterministic_algorithms(mode, /)\n--\n\nMakes results depend on nothing but their inputs, at the "
     "price of speed."},
    {"are_deterministic_algorithms_enabled", is_deterministic, METH_NOARGS,
     "are_deterministic_algorithms_enabled()\n--\n\nTrue if deterministic algorithms were asked for."},
    {"set_float32_matmul_precision", set_matmul_precision, METH_O,
     "set_float32_matmul_precision(precision, /)\n--\n\n"
     "Sets the format in which CUDA devices multiply float32 matrices, process-wide; sums are float32 in all of "
     "them.\n\n"
     "Args:\n"
     "    precision: \"highest\", float32, which is the default; \"high\" or \"medium\", TF32, with 10 bits of "
     "mantissa, where\n"
     "        the device has it, which is several times as fast there.\n\n"
     "Raises:\n"
     "    ValueError: there is no such precision."},
    {"get_float32_matmul_precision", get_matmul_precision, METH_NOARGS,
     "get_float32_matmul_precision()\n--\n\nReturns \"highest\", \"high\" or \"medium\"."},
    {"_cudnn_set_enabled", set_cudnn, METH_O,
     "_cudnn_set_enabled(enabled, /)\n--\n\nSee lamella.cuda.set_cudnn_enabled."},
    {"_cudnn_is_enabled", is_cudnn, METH_NOARGS, "_cudnn_is_enabled()\n--\n\nSee lamella.cuda.is_cudnn_enabled."},
    {"_cudnn_version", version_of_cudnn, METH_NOARGS, "_cudnn_version()\n--\n\nSee lamella.cuda.cudnn_version."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

PyMethodDef* autocast_functions() { return autocast_method_defs; }

}  // namespace lamella::python
