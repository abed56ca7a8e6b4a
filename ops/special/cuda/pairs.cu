#include "engine/core/error.h"
#include "engine/runtime/cuda/device_guard.h"
#include "engine/runtime/cuda/launch.h"
#include "engine/runtime/cuda/stream.h"
#include "ops/cuda/grid.h"
#include "ops/special/formulas/incomplete_gamma.h"
#include "ops/special/formulas/polynomials.h"
#include "ops/special/pair_functions.h"
#include "ops/support/device_kernels.h"

// Functions of two numbers. They compute in double; one kernel serves both dtypes.

namespace lamella::cuda {
namespace {

using special::PairFunction;
using special::Polynomial;

/// Highest order of derivatives of polynomials, whose recurrences a thread keeps.
constexpr int kMostOrder = 15;

struct PairArgs {
  const void* a;
  /// Distance of neighbors in a: 0 if it is a single number.
  std::int64_t step;
  const void* x;
  void* y;
  std::int64_t n;
  /// True if the elements are float32.
  bool single;
};

PairArgs make_args(const Tensor& a, std::int64_t step, const Tensor& x, const Tensor& y) {
  return {a.raw_data(), step, x.raw_data(), y.raw_data(), y.numel(), y.dtype() == DType::Float32};
}

/// Writes f(a, x) for this thread's share of the elements.
template <class F>
__device__ void for_each_pair(const PairArgs& args, F&& f) {
  const auto read = [single = args.single](const void* from, std::int64_t i) {
    return single ? static_cast<const float*>(from)[i] : static_cast<const double*>(from)[i];
  };
  for_each_element(args.n, [&](std::int64_t i) {
    const double y = f(read(args.a, i * args.step), read(args.x, i));
    if (args.single) {
      static_cast<float*>(args.y)[i] = static_cast<float>(y);
    } else {
      static_cast<double*>(args.y)[i] = y;
    }
  });
}

__global__ void __launch_bounds__(kGridThreads) gamma_kernel(const PairArgs args, const PairFunction function) {
  for_each_pair(args, [function](double a, double x) {
    switch (function) {
      case PairFunction::GammaInc:
        return special::gammainc<double>(a, x);
      case PairFunction::GammaIncC:
        return special::gammaincc<double>(a, x);
      default:
        return special::density(a, x);
    }
  });
}

__global__ void __launch_bounds__(kGridThreads) polynomial_kernel(const PairArgs args, const Polynomial polynomial) {
  double scratch[2 * (kMostOrder + 1)];
  for_each_pair(args, [&](double degree, double x) {
    // Such a degree is an error on the CPU, which a device cannot report without a wait.
    const bool too_high = degree >= special::kHighestDegree + 1 && !polynomial.by_definition(degree);
    return too_high ? special::kNan : polynomial.at(x, degree, scratch);
  });
}

void run_pair(PairFunction function, const Tensor& a, std::int64_t step, const Tensor& x, const Tensor& y,
              const char* op) {
  const DeviceGuard guard(y.device());
  launch(op, gamma_kernel, grid_blocks(y.numel()), kGridThreads, 0, current_stream(y.device()),
         make_args(a, step, x, y), function);
}

void run_polynomial(const Polynomial& polynomial, const Tensor& degree, std::int64_t step, const Tensor& x,
                    const Tensor& y, const char* op) {
  if (polynomial.order > kMostOrder) {
    fail<NotImplementedError>("[", op, "] derivatives of an order above ", kMostOrder, " have no kernel for ",
                              y.device());
  }
  const DeviceGuard guard(y.device());
  launch(op, polynomial_kernel, grid_blocks(y.numel()), kGridThreads, 0, current_stream(y.device()),
         make_args(degree, step, x, y), polynomial);
}

[[maybe_unused]] const bool kPairsRegistered =
    register_kernel<&DeviceKernels::special_pair>(DeviceType::CUDA, run_pair) &&
    register_kernel<&DeviceKernels::polynomial>(DeviceType::CUDA, run_polynomial);

}  // namespace
}  // namespace lamella::cuda
