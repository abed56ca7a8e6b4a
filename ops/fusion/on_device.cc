#include "ops/fusion/on_device.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "engine/core/host.h"
#include "engine/runtime/source_kernels.h"
#include "ops/fusion/native/device_source.h"
#include "ops/fusion/native/emit.h"
#include "ops/fusion/native/native.h"
#include "ops/fusion/outputs.h"

namespace lamella::fusion {
namespace {

using native::Forms;

/// Runs of a program on a device before it is compiled, which takes a tenth of a second.
constexpr int kRunsBefore = 10;
constexpr std::int64_t kThreads = 256;
/// Elements that a thread computes, where there are many.
constexpr std::int64_t kElements = 4;

native::Variant variant_of(std::span<const Tensor> inputs) {
  native::Variant variant{.dtype = DType::Float32, .single = {}};
  for (const Tensor& x : inputs) {
    if (x.dtype() != DType::Bool) variant.dtype = x.dtype();
    variant.single.push_back(x.ndim() == 0);
  }
  return variant;
}

/// Compiles a program; null if that is not possible, which is told once.
void* compile(const Program& program, const native::Variant& variant, Device device) {
  std::optional<std::string> source = native::device_source(program, variant);
  if (!source) return nullptr;
  try {
    const HostRelease release(INT64_MAX);
    return kernel_compiler(device, "compile")
        .load(device, {.label = "compile",
                       .text = std::move(*source),
                       .name = native::kDeviceKernel,
                       .options = {"--fmad=false"},
                       .is_whole = true,
                       .folder = native::settings().cache});
  } catch (const RuntimeError& error) {
    native::note_device_problem(error.what());
    return nullptr;
  }
}

/// Returns the form of a program for tensors, with the lock of all held.
Forms::OnDevice& form_for(Forms& forms, std::span<const Tensor> inputs) {
  const Device device = inputs.front().device();
  native::Variant variant = variant_of(inputs);
  const auto found = std::ranges::find_if(
      forms.on_devices, [&](const Forms::OnDevice& one) { return one.device == device && one.variant == variant; });
  if (found != forms.on_devices.end()) return *found;
  return forms.on_devices.emplace_back(std::move(variant), device);
}

/// The arguments of a kernel, in the order of device_source().
class Arguments {
 public:
  explicit Arguments(std::size_t most) { values_.reserve(most); }

  template <class T>
  void add(T value) {
    static_assert(sizeof value <= sizeof(std::uint64_t));
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    values_.push_back(bits);
  }
  void add_constant(const Scalar& value, DType dtype) {
    if (dtype == DType::Float32) return add(value.to<float>());
    add(value.to<double>());
  }
  std::vector<void*> addresses() {
    std::vector<void*> all;
    all.reserve(values_.size());
    for (std::uint64_t& value : values_) all.push_back(&value);
    return all;
  }

 private:
  std::vector<std::uint64_t> values_;
};

}  // namespace

bool has_kernel(const Program& program, std::span<const Tensor> inputs) {
  if (!native::compiles() || program.instructions.empty()) return false;
  Forms& forms = program.forms();
  {
    const std::lock_guard lock(forms.mutex);
    Forms::OnDevice& form = form_for(forms, inputs);
    if (form.compiled) return form.kernel;
    if (form.runs++ < kRunsBefore && !native::compiles_at_once()) return false;
  }
  void* const kernel = compile(program, variant_of(inputs), inputs.front().device());
  const std::lock_guard lock(forms.mutex);
  Forms::OnDevice& form = form_for(forms, inputs);
  form.compiled = true;
  form.kernel = kernel;
  return kernel;
}

std::vector<Tensor> run_on_device(const Program& program, std::span<const Tensor> inputs) {
  void* kernel = nullptr;
  {
    const std::lock_guard lock(program.forms().mutex);
    kernel = form_for(program.forms(), inputs).kernel;
  }
  if (!kernel) fail<RuntimeError>("[compile] ", program.name, " has no kernel on ", inputs.front().device());
  const Device device = inputs.front().device();
  const DType dtype = variant_of(inputs).dtype;
  const auto whole = std::ranges::find_if(inputs, [](const Tensor& x) { return x.ndim() > 0; });
  const std::int64_t elements = whole->numel();
  Outputs outputs = make_outputs(program, inputs, whole->shape(), dtype, device);
  if (elements == 0) return std::move(outputs.all);
  const std::vector<int> results = native::result_registers(program);
  Arguments arguments(inputs.size() + program.constants.size() + results.size() + 1);
  arguments.add(static_cast<long long>(elements));
  for (const Tensor& x : inputs) arguments.add(x.raw_data());
  for (const Scalar& constant : program.constants) arguments.add_constant(constant, dtype);
  for (const int result : results) arguments.add(outputs.of_register[static_cast<std::size_t>(result)].raw_data());
  std::vector<void*> addresses = arguments.addresses();
  constexpr std::int64_t kMostBlocks = std::int64_t{1} << 20;
  const std::int64_t threads = elements / kElements + 1;
  const auto blocks = static_cast<unsigned>(std::min((threads + kThreads - 1) / kThreads, kMostBlocks));
  const KernelLaunch launch{
      .grid = {blocks, 1, 1}, .block = {kThreads, 1, 1}, .shared = 0, .arguments = addresses.data()};
  kernel_compiler(device, "compile").launch(device, kernel, "compile", launch);
  return std::move(outputs.all);
}

}  // namespace lamella::fusion
