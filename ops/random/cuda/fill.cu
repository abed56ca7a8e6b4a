#include "ops/random/fill.h"

#include <algorithm>

#include "engine/runtime/cuda/device_guard.h"
#include "engine/runtime/cuda/draws.h"
#include "engine/runtime/cuda/launch.h"
#include "engine/runtime/cuda/stream.h"
#include "ops/support/device_kernels.h"

namespace lamella::cuda {
namespace {

constexpr int kThreads = 256;
constexpr DTypeSet kFilled = Integral | Boolean | DTypeSet{DType::Float32, DType::Float64};

template <class T>
__global__ void __launch_bounds__(kThreads)
    fill_kernel(random::Fill fill, const std::uint64_t* begin, T* out, std::int64_t count) {
  if (begin) {
    fill.seed = begin[0];
    fill.offset += begin[1];
  }
  constexpr std::int64_t kPerBlock = random::kPerBlock<T>;
  const std::int64_t counters = (count + kPerBlock - 1) / kPerBlock;
  const std::int64_t step = std::int64_t{gridDim.x} * kThreads;
  for (std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; i < counters; i += step) {
    const auto values = random::values_of<T>(fill, static_cast<std::uint64_t>(i));
#pragma unroll
    for (int k = 0; k < kPerBlock; ++k) {
      if (i * kPerBlock + k < count) out[i * kPerBlock + k] = values[k];
    }
  }
}

void fill_random(const random::Fill& given, const Tensor& out) {
  const Device device = out.device();
  const std::int64_t count = out.numel();
  const DeviceGuard guard(device);
  random::Fill fill = given;
  const std::uint64_t* const begin = begin_of_draws(device, fill.seed, fill.offset, "random");
  visit<kFilled>(out.dtype(), "random", [&]<class T>() {
    constexpr std::int64_t kMaxBlocks = 1 << 16;
    constexpr std::int64_t kPerBlock = random::kPerBlock<T>;
    const std::int64_t blocks = (count + kPerBlock * kThreads - 1) / (kPerBlock * kThreads);
    launch("random", fill_kernel<T>, static_cast<unsigned>(std::min(kMaxBlocks, blocks)), kThreads, 0,
           current_stream(device), fill, begin, out.data<T>(), count);
  });
}

[[maybe_unused]] const bool kFillRegistered = register_kernel<&DeviceKernels::random>(DeviceType::CUDA, fill_random);

}  // namespace
}  // namespace lamella::cuda
