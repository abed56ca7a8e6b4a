#include <span>

#include "engine/runtime/cuda/device_guard.h"
#include "engine/runtime/cuda/launch.h"
#include "engine/runtime/cuda/stream.h"
#include "ops/cuda/any_dtype.h"
#include "ops/cuda/grid.h"
#include "ops/elementwise/divisor.h"
#include "ops/elementwise/split_float.h"
#include "ops/support/device_kernels.h"

// Operators on elements that are no formulas of operands' types: frexp(), gcd() and lcm().

namespace lamella::cuda {
namespace {

struct FrexpArgs {
  DType dtype;
  std::int64_t n;
  const void* x;
  void* mantissas;
  std::int32_t* exponents;
  /// Receive the factors of the gradient; null if they are not wanted.
  void* first;
  void* second;
};

__global__ void __launch_bounds__(kGridThreads) frexp_kernel(const FrexpArgs args) {
  for_each_element(args.n, [&](std::int64_t i) {
    visit_on_device<Floating>(args.dtype, [&]<class T>() {
      using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;
      int exponent = 0;
      const Wide mantissa = split_float(convert<Wide>(static_cast<const T*>(args.x)[i]), exponent);
      static_cast<T*>(args.mantissas)[i] = convert<T>(mantissa);
      args.exponents[i] = exponent;
      if (!args.first) return;
      const int half = exponent / 2;
      static_cast<T*>(args.first)[i] = convert<T>(power_of_two<Wide>(-half));
      static_cast<T*>(args.second)[i] = convert<T>(power_of_two<Wide>(half - exponent));
    });
  });
}

void run_frexp(const Tensor& x, std::span<const Tensor> parts) {
  const DeviceGuard guard(x.device());
  const auto factor = [parts](std::size_t i) { return i < parts.size() ? parts[i].raw_data() : nullptr; };
  launch(
      "frexp", frexp_kernel, grid_blocks(x.numel()), kGridThreads, 0, current_stream(x.device()),
      {x.dtype(), x.numel(), x.raw_data(), parts[0].raw_data(), parts[1].data<std::int32_t>(), factor(2), factor(3)});
}

__global__ void __launch_bounds__(kGridThreads) divisors_kernel(const DType dtype, const std::int64_t n, const void* a,
                                                                const void* b, void* out, const bool multiple) {
  for_each_element(n, [&](std::int64_t i) {
    visit_on_device<Integral>(dtype, [&]<class T>() {
      static_cast<T*>(out)[i] =
          divisor_or_multiple_of(static_cast<const T*>(a)[i], static_cast<const T*>(b)[i], multiple);
    });
  });
}

void run_divisors(const Tensor& a, const Tensor& b, const Tensor& out, bool multiple, const char* op) {
  const DeviceGuard guard(out.device());
  launch(op, divisors_kernel, grid_blocks(out.numel()), kGridThreads, 0, current_stream(out.device()), out.dtype(),
         out.numel(), a.raw_data(), b.raw_data(), out.raw_data(), multiple);
}

[[maybe_unused]] const bool kNumberPartsRegistered =
    register_kernel<&DeviceKernels::frexp>(DeviceType::CUDA, run_frexp) &&
    register_kernel<&DeviceKernels::divisors>(DeviceType::CUDA, run_divisors);

}  // namespace
}  // namespace lamella::cuda
