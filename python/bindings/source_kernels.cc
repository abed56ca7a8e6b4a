#include "python/bindings/source_kernels.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/autograd/recording/recorder.h"
#include "engine/autograd/tangents/duals.h"
#include "engine/core/half.h"
#include "engine/core/host.h"
#include "engine/runtime/device_query.h"
#include "engine/runtime/source_kernels.h"
#include "ops/elementwise/results.h"
#include "ops/support/hidden.h"
#include "python/bindings/adapted.h"
#include "python/bindings/method.h"

// Kernels come as numbers in a table, as graphs do. A parameter comes as its name and a type: "int32" for a number,
// "float32*" for the address of a tensor of that dtype, "*" for one of any dtype; "const float32*" is read alone.

namespace lamella::python {
namespace {

constexpr std::int64_t kMostThreads = 1024;

struct Parameter {
  std::string name;
  bool is_tensor = false;
  bool is_written = false;
  std::optional<DType> dtype;
};

struct Kernel {
  /// Opens messages: "kernel scale". Of the process's whole life, as writes in place are told by it.
  const char* label = nullptr;
  KernelSource source;
  std::vector<Parameter> parameters;
  bool takes_strided = false;
  std::mutex mutex;
  std::map<int, void*> loaded;  // by device
};

/// Never destroyed: kernels may outlive the interpreter.
struct Kernels {
  std::mutex mutex;
  std::map<std::int64_t, std::shared_ptr<Kernel>> all;
  std::set<std::string> labels;
  std::int64_t last = 0;
};

Kernels& kernels() {
  static auto* const known = new Kernels;
  return *known;
}

std::shared_ptr<Kernel> kernel_of(std::int64_t number) {
  const std::lock_guard lock(kernels().mutex);
  const auto found = kernels().all.find(number);
  if (found == kernels().all.end()) fail<ValueError>("[cuda.kernel] there is no such kernel");
  return found->second;
}

Parameter read_parameter(const std::vector<std::string>& pair) {
  Parameter parameter;
  parameter.name = pair.at(0);
  std::string type = pair.at(1);
  parameter.is_tensor = type.ends_with('*');
  if (parameter.is_tensor) type.pop_back();
  parameter.is_written = parameter.is_tensor && !type.starts_with("const ");
  if (type.starts_with("const ")) type.erase(0, 6);
  const auto known = std::ranges::find(kDTypeNames, type);
  if (known != kDTypeNames.end()) parameter.dtype = static_cast<DType>(known - kDTypeNames.begin());
  if (!parameter.dtype && (!parameter.is_tensor || !type.empty()))
    fail<ValueError>("[cuda.kernel] no parameter has the type ", pair.at(1));
  return parameter;
}

std::int64_t make(PyObject*, const std::string& text, const std::string& name, const std::vector<std::string>& options,
                  bool is_whole, const std::vector<std::vector<std::string>>& parameters, bool takes_strided) {
  auto kernel = std::make_shared<Kernel>();
  for (const auto& pair : parameters) kernel->parameters.push_back(read_parameter(pair));
  kernel->takes_strided = takes_strided;
  kernel->source = {
      .label = "kernel " + name, .text = text, .name = name, .options = options, .is_whole = is_whole, .folder = {}};
  const std::lock_guard lock(kernels().mutex);
  kernel->label = kernels().labels.insert(kernel->source.label).first->c_str();
  kernels().all.emplace(++kernels().last, std::move(kernel));
  return kernels().last;
}

void drop(PyObject*, std::int64_t number) {
  const std::lock_guard lock(kernels().mutex);
  kernels().all.erase(number);
}

/// Returns three sizes, of which missing ones are 1.
std::array<unsigned, 3> read_extent(const Kernel& kernel, const char* name, const std::vector<std::int64_t>& sizes,
                                    std::int64_t least, const std::array<std::int64_t, 3>& most) {
  if (sizes.empty() || sizes.size() > 3)
    fail<ValueError>("[", kernel.label, "] ", name, " has 1 to 3 sizes, not ", sizes.size());
  std::array<unsigned, 3> result{1, 1, 1};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < least || sizes[i] > most[i])
      fail<ValueError>("[", kernel.label, "] ", name, "[", i, "] is from ", least, " to ", most[i], ", not ", sizes[i]);
    result[i] = static_cast<unsigned>(sizes[i]);
  }
  return result;
}

/// The arguments of a launch.
class Arguments {
 public:
  Arguments(const Kernel& kernel, PyObject* given) : kernel_(kernel) {
    const std::size_t count = kernel.parameters.size();
    const auto got = static_cast<std::size_t>(PyTuple_GET_SIZE(given));
    if (got != count) {
      std::string names;
      for (const Parameter& parameter : kernel.parameters) names += (names.empty() ? "" : ", ") + parameter.name;
      fail<TypeError>("[", kernel.label, "] ", count, count == 1 ? " argument is" : " arguments are", " wanted (",
                      names, "), got ", got);
    }
    values_.resize(count);
    for (at_ = 0; at_ < count; ++at_) read(PyTuple_GET_ITEM(given, static_cast<Py_ssize_t>(at_)));
    for (Value& value : values_) addresses_.push_back(&value);
  }

  /// The tensors' device, or the current one of this thread if there are none.
  Device device() const { return device_ ? *device_ : Device(DeviceType::CUDA, current_cuda_device()); }
  void** addresses() { return addresses_.data(); }

  /// Notes that the kernel has written.
  void mark() const {
    for (const Tensor* out : written_) finish_out(tensors_, *out, kernel_.label);
  }

 private:
  using Value = std::uint64_t;

  template <class E, class... Part>
  [[noreturn]] void refuse(const Part&... parts) const {
    fail<E>("[", kernel_.label, "] argument ", at_ + 1, ", ", kernel_.parameters[at_].name, ", ", parts...);
  }

  void read(PyObject* object) {
    const Parameter& parameter = kernel_.parameters[at_];
    if (parameter.is_tensor) {
      if (object == Py_None) return set<void*>(nullptr);
      if (!is_tensor(object)) refuse<TypeError>("is a Tensor or None, not ", type_name(object));
      // Symbols of graphs, whose tensors are on meta, refuse to be read, and say why.
      if (tensor_of(object).device().is_meta()) PyRef::adopt(checked(PyObject_CallMethod(object, "data_ptr", nullptr)));
      return read_tensor(tensor_of(object), parameter);
    }
    if (is_tensor(object))
      refuse<TypeError>("is a number (", *parameter.dtype, "), not a Tensor; item() gives the number of one");
    if (parameter.dtype == DType::Bool || is_integral(*parameter.dtype)) return read_integer(object, *parameter.dtype);
    const double number = PyFloat_AsDouble(object);
    if (number == -1 && PyErr_Occurred()) {
      PyErr_Clear();
      refuse<TypeError>("is a number (", *parameter.dtype, "), not ", type_name(object));
    }
    set_floating(number, *parameter.dtype);
  }

  void read_tensor(const Tensor& x, const Parameter& parameter) {
    if (!x.defined()) refuse<ValueError>("is an undefined tensor");
    if (!x.device().is_cuda() && !x.device().is_meta())
      refuse<ValueError>("is on ", x.device(), ", and a kernel computes on a CUDA device: to('cuda') copies it there");
    if (device_ && x.device() != *device_)
      refuse<ValueError>("is on ", x.device(), ", and those before it are on ", *device_);
    device_ = x.device();
    if (parameter.dtype && x.dtype() != *parameter.dtype)
      refuse<TypeError>("is of dtype ", *parameter.dtype, ", got ", x.dtype());
    if (is_batched(x))
      refuse<RuntimeError>("is batched by vmap, of which a kernel knows nothing: give a PyLayer a rule");
    if (!kernel_.takes_strided && !x.is_contiguous())
      refuse<ValueError>("is not contiguous (shape ", x.shape(), ", strides ", x.strides(),
                         "): contiguous() copies it, and a kernel made with strided=True takes it");
    if (wants_gradient(x, parameter))
      refuse<RuntimeError>(
          "wants a gradient, which a kernel has none of: launch it in the forward of a PyLayer, or "
          "under no_grad()");
    tensors_.push_back(&x);
    if (parameter.is_written) {
      check_writable(x, kernel_.label);
      written_.push_back(&x);
    }
    set<void*>(x.raw_data());
  }

  bool wants_gradient(const Tensor& x, const Parameter& parameter) const {
    if (autograd::duals_active() && autograd::is_dual(x)) return true;
    if (!autograd::is_grad_enabled()) return false;
    return x.requires_grad() || (parameter.is_written && autograd::records_in_place(kernel_.label, x, Tensor()));
  }

  void read_integer(PyObject* object, DType dtype) {
    if (!PyIndex_Check(object)) refuse<TypeError>("is an int (", dtype, "), not ", type_name(object));
    const PyRef number = PyRef::adopt(checked(PyNumber_Index(object)));
    const std::size_t bits = 8 * item_size(dtype);
    const bool is_signed = SignedInteger.contains(dtype);
    int overflow = 0;
    const std::int64_t value = PyLong_AsLongLongAndOverflow(number.get(), &overflow);
    bool fits = overflow == 0;
    auto pattern = static_cast<std::uint64_t>(value);
    if (dtype == DType::Bool) {
      fits = fits && (value == 0 || value == 1);
    } else if (is_signed && bits < 64) {
      const std::int64_t most = (std::int64_t{1} << (bits - 1)) - 1;
      fits = fits && value >= -most - 1 && value <= most;
    } else if (!is_signed && bits < 64) {
      fits = fits && value >= 0 && pattern >> bits == 0;
    } else if (!is_signed) {
      fits = fits && value >= 0;
      if (overflow > 0) {
        pattern = PyLong_AsUnsignedLongLong(number.get());
        fits = !PyErr_Occurred();
        PyErr_Clear();
      }
    }
    if (!fits) {
      const PyRef text = PyRef::adopt(checked(PyObject_Str(number.get())));
      refuse<ValueError>("is an int of dtype ", dtype, ", which has no ", Adapted<std::string>::from(text.get()));
    }
    set(pattern);
  }

  void set_floating(double number, DType dtype) {
    if (dtype == DType::Float64) return set(number);
    const auto single = static_cast<float>(number);
    if (dtype == DType::Float16) return set(Half(single));
    if (dtype == DType::BFloat16) return set(BFloat16(single));
    set(single);
  }

  /// Puts a value where the kernel reads it: into the first bytes, as processors of GPUs' hosts are little-endian.
  template <class T>
  void set(T value) {
    std::memcpy(&values_[at_], &value, sizeof value);
  }

  const Kernel& kernel_;
  std::size_t at_ = 0;
  std::optional<Device> device_;
  std::vector<const Tensor*> tensors_;
  std::vector<const Tensor*> written_;
  std::vector<Value> values_;
  std::vector<void*> addresses_;
};

/// Returns the kernel on a device, which is compiled with the first call.
void* load(Kernel& kernel, KernelCompiler& compiler, Device device) {
  {
    const std::lock_guard lock(kernel.mutex);
    if (const auto found = kernel.loaded.find(device.index); found != kernel.loaded.end()) return found->second;
  }
  void* loaded = nullptr;
  {
    const HostRelease release(INT64_MAX);
    loaded = compiler.load(device, kernel.source);
  }
  const std::lock_guard lock(kernel.mutex);
  kernel.loaded[device.index] = loaded;
  return loaded;
}

void launch(PyObject*, std::int64_t number, const std::vector<std::int64_t>& grid,
            const std::vector<std::int64_t>& block, std::int64_t shared, PyObject* given) {
  const auto kernel = kernel_of(number);
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  KernelLaunch launch{.grid = read_extent(*kernel, "grid", grid, 0, {kMost, 65535, 65535}),
                      .block = read_extent(*kernel, "block", block, 1, {kMostThreads, kMostThreads, 64})};
  const std::uint64_t threads = std::uint64_t{launch.block[0]} * launch.block[1] * launch.block[2];
  if (threads > kMostThreads)
    fail<ValueError>("[", kernel->label, "] block has ", threads, " threads, and at most ", kMostThreads,
                     " run in one");
  if (shared < 0 || shared > kMost)
    fail<ValueError>("[", kernel->label, "] shared_mem is a number of bytes, not ", shared);
  launch.shared = static_cast<unsigned>(shared);
  Arguments arguments(*kernel, given);
  const Device device = arguments.device();
  if (std::ranges::find(launch.grid, 0u) != launch.grid.end()) return;
  if (!device.is_meta()) {
    KernelCompiler& compiler = kernel_compiler(device, kernel->label);
    launch.arguments = arguments.addresses();
    compiler.launch(device, load(*kernel, compiler, device), kernel->label, launch);
  }
  arguments.mark();
}

PyObject* module_itself(PyObject* module) { return module; }

template <auto F>
PyMethodDef entry(const char* name, const char* doc) {
  return {name, as_c_function(adapted_method<F, module_itself>), METH_FASTCALL, doc};
}

}  // namespace

PyMethodDef* source_kernel_functions() {
  static PyMethodDef functions[] = {
      entry<make>("_kernel_make", "Returns the number of a new kernel."),
      entry<launch>("_kernel_launch", "Queues a kernel in the current stream."),
      entry<drop>("_kernel_drop", "Forgets a kernel."),
      {nullptr, nullptr, 0, nullptr},
  };
  return functions;
}

}  // namespace lamella::python
