#pragma once

#include <algorithm>

#include "engine/core/host.h"
#include "engine/core/tensor.h"
#include "engine/runtime/parallel.h"
#include "ops/extension/extension.h"
#include "ops/movement/cast.h"
#include "ops/special/pair_functions.h"
#include "ops/support/device_kernels.h"
#include "ops/support/hidden.h"

namespace lamella::special {

/// A function of two numbers, applied to n contiguous x and as many a, which are `step` apart.
struct PairLoops {
  void (*float32)(const float* a, std::int64_t step, const float* x, float* y, std::int64_t n);
  void (*float64)(const double* a, std::int64_t step, const double* x, double* y, std::int64_t n);
};
// Defined in gamma.cc.
extern const PairLoops kGammaInc, kGammaIncC, kGammaDensity;

/// True if one number was broadcast to all of x.
inline bool is_repeated(const Tensor& x) {
  for (std::size_t i = 0; i < x.ndim(); ++i) {
    if (x.strides()[i] != 0 && x.shape()[i] > 1) return false;
  }
  return true;
}

/// Evaluates a function of two tensors of one shape, both float32 or both float64, element by element: run(a, step, x,
/// y, n) is called like PairLoops, and costs `work` times an addition per element; run_there(a, step, x, y), with
/// contiguous tensors, on a device that has the kernel kMember. Not recorded.
template <auto kMember, class F, class G>
Tensor evaluated(const char* op, const Tensor& a, const Tensor& x, std::int64_t work, F&& run, G&& run_there) {
  const auto again = [&](const Tensor& first, const Tensor& second) {
    return evaluated<kMember>(op, first, second, work, run, run_there);
  };
  if (is_batched(a) || is_batched(x)) [[unlikely]]
    return over_examples(again, a, x);
  Tensor y = empty(x.shape(), x.dtype(), x.device());
  const std::int64_t n = y.numel();
  if (y.device().is_meta() || n == 0) return y;
  if (!y.device().is_cpu() && !has_device_kernel<kMember>(y.device())) return on_host(op, y.device(), again, a, x);
  const std::int64_t step = is_repeated(a) ? 0 : 1;
  const Tensor from_a = step == 0 ? a : contiguous(a);
  const Tensor from_x = contiguous(x);
  if (!y.device().is_cpu()) {
    run_there(from_a, step, from_x, y);
    return y;
  }
  const HostRelease release(n * work);
  parallel_for(0, n, even_grain(n, work), [&](std::int64_t begin, std::int64_t end) {
    const auto part = [&]<class T>(T) {
      run(from_a.data<T>() + begin * step, step, from_x.data<T>() + begin, y.data<T>() + begin, end - begin);
    };
    x.dtype() == DType::Float32 ? part(float()) : part(double());
  });
  return y;
}

}  // namespace lamella::special
