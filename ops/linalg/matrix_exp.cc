#include "ops/linalg/matrix_exp.h"

#include <cmath>
#include <vector>

#include "engine/core/modes.h"
#include "ops/creation/creation.h"
#include "ops/elementwise/abs.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/where.h"
#include "ops/linalg/matmul.h"
#include "ops/movement/cast.h"
#include "ops/reduce/extremum.h"
#include "ops/reduce/sum.h"
#include "ops/support/checks.h"
#include "ops/support/dtypes.h"
#include "ops/support/hidden.h"

namespace lamella {
namespace {

/// Norm up to which the truncation error of the Taylor polynomial is below the rounding error: x^17 / 17! for float64,
/// x^10 / 10! for float32.
constexpr double kLargestNorm = 0.75;
/// Most squarings: larger norms give exponentials that overflow or vanish.
constexpr int kMostSquares = 64;

/// Returns the Taylor polynomial of degree width * blocks, in the form of Paterson and Stockmeyer (1973): products for
/// the powers of x up to x^width, and one more for each block of `width` coefficients except the first.
Tensor taylor(const Tensor& x, int width, int blocks) {
  std::vector<Tensor> powers{eye(x.size(-1), std::nullopt, 0, real_dtype(x.dtype()), x.device()), x};
  for (std::size_t i = 2; i <= static_cast<std::size_t>(width); ++i) {
    powers.push_back(matmul(powers[i / 2], powers[i - i / 2]));
  }
  const auto term = [&](int power, int degree) {
    return multiply(powers[static_cast<std::size_t>(power)], 1 / std::tgamma(degree + 1.0));
  };
  Tensor total = term(width, width * blocks);
  for (int block = blocks - 1; block >= 0; --block) {
    for (int i = width - 1; i >= 0; --i) total = add(total, term(i, block * width + i));
    if (block > 0) total = matmul(total, powers.back());
  }
  return total;
}

/// The number of halvings of each matrix (int64) and the factor that they amount to, in the shape of the leading axes
/// and two axes of size 1; and the largest number, on the host.
struct Halving {
  Tensor counts;
  Tensor factors;
  int most = 0;
};

Halving halving_of(const Tensor& x) {
  const autograd::NoGrad no_grad;
  const Tensor norms = max(sum(abs(x), -2, true), Dims{-1}, true);
  const Tensor values = contiguous(to_device(is_batched(norms) ? physical(norms, *norms->hidden) : norms, kCPU));
  const Tensor counts = empty(values.shape(), DType::Int64);
  const Tensor factors = empty(values.shape(), values.dtype());
  Halving result;
  visit<DTypeSet{DType::Float32, DType::Float64}>(values.dtype(), "linalg_matrix_exp", [&]<class T> {
    for (std::int64_t i = 0; i < values.numel(); ++i) {
      const auto norm = static_cast<double>(values.data<T>()[i]);
      const int count = norm > kLargestNorm && std::isfinite(norm)
                            ? std::min(kMostSquares, static_cast<int>(std::ceil(std::log2(norm / kLargestNorm))))
                            : 0;
      counts.data<std::int64_t>()[i] = count;
      factors.data<T>()[i] = std::ldexp(T(1), -count);
      result.most = std::max(result.most, count);
    }
  });
  const auto like_norms = [&](const Tensor& y) {
    Tensor there = to_device(y, x.device());
    return is_batched(norms) ? hide_in_place(std::move(there), *norms->hidden) : there;
  };
  result.counts = like_norms(counts);
  result.factors = like_norms(factors);
  return result;
}

}  // namespace

Tensor LinalgMatrixExp::call(const Tensor& x) {
  check_defined(x, info.name);
  check_dtype(x, info.dtypes, info.name);
  if (is_half(x.dtype())) {
    return cast(call(cast(x, DType::Float32)), x.dtype());
  }
  linalg::check_square(x, info.name);
  if (x.numel() == 0) return clone(x);
  const Halving halving = x.device().is_meta() ? Halving() : halving_of(x);
  const Tensor scaled = halving.most > 0 ? multiply(x, halving.factors) : x;
  Tensor y = real_dtype(x.dtype()) == DType::Float32 ? taylor(scaled, 3, 3) : taylor(scaled, 4, 4);
  // All matrices are squared as often as the largest number says; finished ones keep their value.
  const bool is_one = x.ndim() == 2 && !is_batched(x);
  for (int i = 0; i < halving.most; ++i) {
    const Tensor square = matmul(y, y);
    y = is_one ? square : where(greater(halving.counts, i), square, y);
  }
  return y;
}

}  // namespace lamella
