#include "engine/runtime/cuda/device_guard.h"
#include "engine/runtime/cuda/launch.h"
#include "engine/runtime/cuda/stream.h"
#include "ops/cuda/grid.h"
#include "ops/random/samplers.h"
#include "ops/support/device_kernels.h"

namespace lamella::cuda {
namespace {

using random::Sampler;

constexpr int kMostParameters = 4;

/// One number for all elements, or one for each.
struct Parameter {
  const double* each = nullptr;
  /// The number for all; read on the device if `on_device`.
  double all = 0;
  bool on_device = false;

  __device__ double at(std::int64_t i) const { return !each ? all : each[on_device ? 0 : i]; }
};

struct SampleArgs {
  const std::int64_t* keys;
  const void* normals;
  const float* uniforms;
  Parameter parameters[kMostParameters];
  void* out;
  std::int64_t n;
  /// True if `normals` and `out` are float32.
  bool single;
};

/// One kernel serves all samplers: every thread takes the same branch.
__global__ void __launch_bounds__(kGridThreads) sample_kernel(const Sampler sampler, const SampleArgs args) {
  for_each_element(args.n, [&](std::int64_t i) {
    random::ElementStream stream(static_cast<std::uint64_t>(args.keys[i]));
    const auto first = [&] {
      const double normal =
          args.single ? static_cast<const float*>(args.normals)[i] : static_cast<const double*>(args.normals)[i];
      return random::First{normal, args.uniforms[i]};
    };
    const auto parameter = [&](int k) { return args.parameters[k].at(i); };
    double y = 0;
    switch (sampler) {
      case Sampler::Gamma:
        y = random::sample_gamma(first(), stream, parameter(0), parameter(1));
        break;
      case Sampler::Poisson:
        y = random::sample_poisson(stream, parameter(0));
        break;
      case Sampler::TruncatedNormal:
        y = random::sample_truncated_normal(first(), stream, parameter(0), parameter(1), parameter(2), parameter(3));
        break;
    }
    if (args.single) {
      static_cast<float*>(args.out)[i] = static_cast<float>(y);
    } else {
      static_cast<double*>(args.out)[i] = y;
    }
  });
}

void sample(Sampler sampler, const Tensor& keys, const Tensor& normals, const Tensor& uniforms,
            std::span<const Tensor> parameters, const Tensor& out, const char* op) {
  const DeviceGuard guard(out.device());
  SampleArgs args;
  args.keys = keys.data<std::int64_t>();
  args.normals = normals.defined() ? normals.raw_data() : nullptr;
  args.uniforms = uniforms.defined() ? uniforms.data<float>() : nullptr;
  args.out = out.raw_data();
  args.n = out.numel();
  args.single = out.dtype() == DType::Float32;
  for (std::size_t k = 0; k < parameters.size(); ++k) {
    const auto* const values = parameters[k].data<double>();
    args.parameters[k] = parameters[k].device().is_cpu() ? Parameter{nullptr, *values, false}
                                                         : Parameter{values, 0, parameters[k].numel() == 1};
  }
  launch(op, sample_kernel, grid_blocks(args.n), kGridThreads, 0, current_stream(out.device()), sampler, args);
}

[[maybe_unused]] const bool kSampleRegistered = register_kernel<&DeviceKernels::sample>(DeviceType::CUDA, sample);

}  // namespace
}  // namespace lamella::cuda
