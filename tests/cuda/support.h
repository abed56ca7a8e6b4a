#pragma once

#include <gtest/gtest.h>
#include <lamella/lamella.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "engine/runtime/device_query.h"
#include "tests/cpp/messages.h"

namespace lamella::test {

inline constexpr Device kGpu{DeviceType::CUDA};

/// Skips its tests if there is no CUDA device.
class Cuda : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!cuda::is_available()) GTEST_SKIP() << "no CUDA device";
  }
};

/// Returns pseudo-random numbers in [low, high], the same in every run; whole ones for integers and bools.
inline Tensor sample(const Dims& shape, DType dtype, double low, double high, std::uint64_t seed) {
  Tensor x = empty(shape, DType::Float64);
  auto* data = x.data<double>();
  std::uint64_t state = seed * 0x9E3779B97F4A7C15u + 1;
  for (std::int64_t i = 0; i < x.numel(); ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const double unit = static_cast<double>(state >> 11) * 0x1p-53;
    if (dtype == DType::Bool) {
      data[i] = unit < 0.5 ? 0 : 1;
    } else {
      data[i] = is_floating(dtype) ? low + unit * (high - low) : std::floor(low + unit * (high - low + 1));
    }
  }
  return cast(x, dtype);
}

/// Returns the elements in row-major order, on the host.
inline std::vector<double> values(const Tensor& x) {
  const autograd::NoGrad no_grad;
  const Tensor y = contiguous(cast(to_device(x, kCPU), DType::Float64));
  return {y.data<double>(), y.data<double>() + y.numel()};
}

inline double tolerance(DType dtype) {
  switch (dtype) {
    case DType::Float64:
    case DType::Complex128:
      return 1e-11;
    case DType::Float32:
    case DType::Complex64:
      return 2e-5;
    case DType::Float16:
      return 1e-3;
    case DType::BFloat16:
      return 1e-2;
    default:
      return 0;
  }
}

/// Succeeds if the tensors agree in shape and dtype, and in their elements: NaN with NaN, infinities exactly, other
/// numbers to `allowed` relative to the larger of them and 1.
inline ::testing::AssertionResult agree(const Tensor& actual, const Tensor& expected, double allowed) {
  if (actual.shape() != expected.shape() || actual.dtype() != expected.dtype()) {
    return ::testing::AssertionFailure() << describe(actual) << " instead of " << describe(expected);
  }
  const std::vector<double> a = values(actual);
  const std::vector<double> e = values(expected);
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) && std::isnan(e[i])) continue;
    if (a[i] == e[i]) continue;
    const double scale = std::max({1.0, std::abs(a[i]), std::abs(e[i])});
    if (!(std::abs(a[i] - e[i]) <= allowed * scale)) {
      return ::testing::AssertionFailure()
             << a[i] << " instead of " << e[i] << " at " << i << " of " << describe(expected);
    }
  }
  return ::testing::AssertionSuccess();
}
inline ::testing::AssertionResult agree(const Tensor& actual, const Tensor& expected) {
  return agree(actual, expected, tolerance(expected.dtype()));
}

}  // namespace lamella::test
