#include <cmath>

#include "ops/linalg/factor.h"
#include "ops/linalg/factor_parts.h"

namespace lamella::linalg {

std::pair<Tensor, Tensor> run_slogdet(const Factors& factors) {
  if (!is_plain(factors.lu)) [[unlikely]] {
    const auto run = [](const Tensor& a, const Tensor& pivots) { return run_slogdet({a, pivots}); };
    return with_plain("linalg_slogdet", run, factors.lu, factors.pivots);
  }
  const Tensor& lu = factors.lu;
  const Tensor sign = beside(lu, {}, lu.dtype());
  const Tensor logarithm = beside(lu, {}, real_dtype(lu.dtype()));
  if (!is_computed(lu, "linalg_slogdet")) return {sign, logarithm};
  const std::int64_t n = lu.size(-1);
  visit<Decomposable>(lu.dtype(), "linalg_slogdet", [&]<class T> {
    for (std::int64_t i = 0; i < sign.numel(); ++i) {
      const T* const matrix = n ? lu.data<T>() + i * n * n : nullptr;
      T unit(1);
      double sum = 0;
      for (std::int64_t j = 0; j < n; ++j) {
        const T pivot = matrix[j * n + j];
        const auto magnitude = std::abs(pivot);
        sum += std::log(static_cast<double>(magnitude));
        unit = magnitude == 0 ? T(0) : unit * (pivot / magnitude);
        if (factors.pivots.data<std::int32_t>()[i * n + j] != j + 1) unit = -unit;
      }
      sign.data<T>()[i] = unit;
      using Real = decltype(std::abs(unit));
      logarithm.data<Real>()[i] = static_cast<Real>(sum);
    }
  });
  return {sign, logarithm};
}

Tensor run_det(const Factors& factors) {
  if (!is_plain(factors.lu)) [[unlikely]] {
    const auto run = [](const Tensor& a, const Tensor& pivots) { return run_det({a, pivots}); };
    return with_plain("linalg_det", run, factors.lu, factors.pivots);
  }
  const Tensor& lu = factors.lu;
  const Tensor det = beside(lu, {}, lu.dtype());
  if (!is_computed(lu, "linalg_det")) return det;
  const std::int64_t n = lu.size(-1);
  visit<Decomposable>(lu.dtype(), "linalg_det", [&]<class T> {
    for (std::int64_t i = 0; i < det.numel(); ++i) {
      T product(1);
      for (std::int64_t j = 0; j < n; ++j) {
        product *= lu.data<T>()[i * n * n + j * n + j];
        if (factors.pivots.data<std::int32_t>()[i * n + j] != j + 1) product = -product;
      }
      det.data<T>()[i] = product;
    }
  });
  return det;
}

}  // namespace lamella::linalg
