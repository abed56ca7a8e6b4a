#include <array>

#include "engine/runtime/cuda/device_guard.h"
#include "engine/runtime/cuda/launch.h"
#include "engine/runtime/cuda/stream.h"
#include "ops/cuda/grid.h"
#include "ops/simd/lane.h"
#include "ops/special/formulas/airy.h"
#include "ops/special/formulas/bessel.h"
#include "ops/special/formulas/modified_bessel.h"
#include "ops/special/formulas/normal.h"
#include "ops/support/device_kernels.h"

// Functions of one number. One kernel for each, which computes in double, serves both dtypes.

namespace lamella::cuda {
namespace {

using cpu::Special;

struct SpecialArgs {
  const void* x;
  void* y;
  std::int64_t n;
  /// True if the elements are float32.
  bool single;
};

template <class F>
__global__ void __launch_bounds__(kGridThreads) special_kernel(const SpecialArgs args) {
  for_each_element(args.n, [&](std::int64_t i) {
    const double x = args.single ? static_cast<const float*>(args.x)[i] : static_cast<const double*>(args.x)[i];
    const double y = F::at(simd::Lane<double>(x)).value();
    if (args.single) {
      static_cast<float*>(args.y)[i] = static_cast<float>(y);
    } else {
      static_cast<double*>(args.y)[i] = y;
    }
  });
}

using SpecialKernel = void (*)(SpecialArgs);

std::array<SpecialKernel, cpu::kSpecialCount> special_kernels() {
  namespace f = lamella::special;
  std::array<SpecialKernel, cpu::kSpecialCount> kernels{};
  const auto set = [&kernels]<class F>(Special function, F) {
    kernels[static_cast<std::size_t>(function)] = special_kernel<F>;
  };
  set(Special::I0, f::ModifiedI0());
  set(Special::I0e, f::ScaledModifiedI0());
  set(Special::I0eSlope, f::ScaledModifiedI0Slope());
  set(Special::I1, f::ModifiedI1());
  set(Special::I1e, f::ScaledModifiedI1());
  set(Special::I1eSlope, f::ScaledModifiedI1Slope());
  set(Special::K0, f::ModifiedK<f::ModifiedOrder0>());
  set(Special::K0e, f::ScaledModifiedK<f::ModifiedOrder0>());
  set(Special::K0eSlope, f::ScaledModifiedK0Slope());
  set(Special::K1, f::ModifiedK<f::ModifiedOrder1>());
  set(Special::K1e, f::ScaledModifiedK<f::ModifiedOrder1>());
  set(Special::K1eSlope, f::ScaledModifiedK1Slope());
  set(Special::J0, f::BesselJ0());
  set(Special::J1, f::BesselJ1());
  set(Special::Y0, f::BesselY<f::BesselOrder0>());
  set(Special::Y1, f::BesselY<f::BesselOrder1>());
  set(Special::SphericalJ0, f::SphericalJ0());
  set(Special::SphericalJ1, f::SphericalJ1());
  set(Special::AiryAi, f::AiryInParts<f::AiryAi>());
  set(Special::AiryAiSlope, f::AiryInParts<f::AiryAiSlope>());
  set(Special::Erfcx, f::Erfcx());
  set(Special::ErfcxSlope, f::ErfcxSlope());
  set(Special::Ndtri, f::Ndtri());
  set(Special::LogNdtr, f::LogNdtr());
  set(Special::LogNdtrSlope, f::LogNdtrSlope());
  set(Special::Logit, f::Logit());
  set(Special::LogitSlope, f::LogitSlope());
  return kernels;
}

void run(Special function, const Tensor& x, const Tensor& y, const char* op) {
  static const std::array<SpecialKernel, cpu::kSpecialCount> kernels = special_kernels();
  const Device device = y.device();
  const DeviceGuard guard(device);
  launch(op, kernels[static_cast<std::size_t>(function)], grid_blocks(y.numel()), kGridThreads, 0,
         current_stream(device), {x.raw_data(), y.raw_data(), y.numel(), y.dtype() == DType::Float32});
}

[[maybe_unused]] const bool kFunctionsRegistered = register_kernel<&DeviceKernels::special>(DeviceType::CUDA, run);

}  // namespace
}  // namespace lamella::cuda
