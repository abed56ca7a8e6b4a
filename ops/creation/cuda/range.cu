#include "ops/creation/range.h"

#include <algorithm>

#include "engine/runtime/cuda/device_guard.h"
#include "engine/runtime/cuda/launch.h"
#include "engine/runtime/cuda/stream.h"
#include "ops/simd/convert.h"
#include "ops/support/device_kernels.h"

namespace lamella::cuda {
namespace {

constexpr int kThreads = 256;

/// Returns a + b * c with both operations rounded, as on the CPU; nvcc would fuse them.
__device__ double rounded_twice(double a, double b, double c) {
#ifdef __CUDA_ARCH__
  return a + __dmul_rn(b, c);
#else
  return a + b * c;
#endif
}

template <class T>
__global__ void __launch_bounds__(kThreads) range_kernel(const Range range, T* out, std::int64_t count) {
  const std::int64_t step = std::int64_t{gridDim.x} * kThreads;
  for (std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; i < count; i += step) {
    if (range.whole) {
      const std::uint64_t value = range.first_integer + static_cast<std::uint64_t>(i) * range.integer_step;
      out[i] = convert<T>(static_cast<std::int64_t>(value));
    } else {
      const double value = rounded_twice(range.first, range.step, static_cast<double>(i));
      out[i] = convert<T>(range.has_last && i == count - 1 ? range.last : value);
    }
  }
}

void fill_range(const Range& range, const Tensor& out) {
  constexpr std::int64_t kMaxBlocks = 1 << 16;
  const std::int64_t count = out.numel();
  const auto blocks = static_cast<unsigned>(std::min(kMaxBlocks, (count + kThreads - 1) / kThreads));
  const DeviceGuard guard(out.device());
  visit<AnyDType>(out.dtype(), "arange", [&]<class T>() {
    launch("arange", range_kernel<T>, blocks, kThreads, 0, current_stream(out.device()), range, out.data<T>(), count);
  });
}

[[maybe_unused]] const bool kRangeRegistered = register_kernel<&DeviceKernels::range>(DeviceType::CUDA, fill_range);

}  // namespace
}  // namespace lamella::cuda
