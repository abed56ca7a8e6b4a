#include "ops/linalg/covariance.h"

#include <algorithm>

#include "engine/core/modes.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/clip.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/complex.h"
#include "ops/elementwise/extrema.h"
#include "ops/linalg/adjoint.h"
#include "ops/linalg/matmul.h"
#include "ops/linalg/norms.h"
#include "ops/movement/cast.h"
#include "ops/reduce/extremum.h"
#include "ops/reduce/sum.h"
#include "ops/reduce/variance.h"
#include "ops/shape/reshape.h"
#include "ops/support/checks.h"
#include "ops/support/dtypes.h"
#include "ops/support/hidden.h"

namespace lamella {
namespace {

/// Checks `weights` and returns it as an operand of the rows' dtype.
Tensor checked_weights(const Tensor& weights, std::int64_t observations, const char* argument) {
  check_defined(weights, "cov");
  if (weights.ndim() != 1 || weights.numel() != observations) {
    fail<ValueError>("[cov] ", argument, " must have one number for each of the ", observations,
                     " observations, got shape ", weights.shape());
  }
  const autograd::NoGrad no_grad;
  const Tensor whole = is_batched(weights) ? physical(weights, *weights->hidden) : weights;
  if (!whole.device().is_meta() && *to_device(any(less(whole, 0)), kCPU).data<bool>())
    fail<ValueError>("[cov] ", argument, " must not be negative");
  return weights;
}

/// Returns the observations of variables, which are rows; a vector is one of them.
Tensor variables_of(const Tensor& given, const char* op) {
  check_defined(given, op);
  if (given.ndim() > 2) fail<ValueError>("[", op, "] takes a matrix of variables, got shape ", given.shape());
  Tensor x = reshape(as_inexact(given, op), given.ndim() == 2 ? given.shape() : Dims{1, given.numel()});
  if (x.size(1) == 0) fail<ValueError>("[", op, "] there are no observations; the shape is ", given.shape());
  return x;
}

}  // namespace

Tensor Cov::call(const Tensor& given, std::int64_t correction, const std::optional<Tensor>& fweights,
                 const std::optional<Tensor>& aweights) {
  if (given.defined() && is_wide_integer(given.dtype())) {
    const Tensor y = call(cast(given, DType::Float64), correction, fweights, aweights);
    return aweights && aweights->dtype() == DType::Float64 ? y : cast(y, kDefaultFloat);
  }
  Tensor x = variables_of(given, info.name);
  if (aweights && is_floating(aweights->dtype())) x = cast(x, promote_types(x.dtype(), aweights->dtype()));
  // Sums of products may be beyond the range of float16 where the covariances are not.
  if (is_half(x.dtype())) return cast(call(cast(x, DType::Float32), correction, fweights, aweights), x.dtype());
  const std::int64_t observations = x.size(1);
  const DType real_numbers = real_dtype(x.dtype());
  std::optional<Tensor> weights;
  if (fweights) {
    if (is_floating(fweights->dtype()) || is_complex(fweights->dtype()))
      fail<TypeError>("[cov] fweights must be integers, got dtype ", fweights->dtype());
    weights = cast(checked_weights(*fweights, observations, "fweights"), real_numbers);
  }
  if (aweights) {
    const Tensor counted =
        cast(checked_weights(as_floating(*aweights, info.name), observations, "aweights"), real_numbers);
    weights = weights ? multiply(*weights, counted) : counted;
  }
  if (!weights) {
    const Tensor apart = centered(x, Dims{1});
    const Tensor products = matmul(apart, linalg::adjoint(apart));
    const double divisor = std::max<double>(0, static_cast<double>(observations - correction));
    return reshape(divide(products, divisor), products.numel() == 1 ? Dims{} : products.shape());
  }
  const Tensor total = sum(*weights);
  const auto without_mean = [&](const Tensor& rows) {
    return subtract(rows, divide(sum(multiply(rows, *weights), Dims{1}, true), total));
  };
  const Tensor apart = without_mean(without_mean(x));  // the second time for what rounding leaves
  const Tensor products = matmul(multiply(apart, *weights), linalg::adjoint(apart));
  Tensor divisor = subtract(total, correction);
  if (aweights && correction != 0) {
    const Tensor counted = cast(as_floating(*aweights, info.name), real_numbers);
    divisor = subtract(total, divide(multiply(sum(multiply(*weights, counted)), correction), total));
  }
  return reshape(divide(products, maximum(divisor, 0)), products.numel() == 1 ? Dims{} : products.shape());
}

Tensor CorrCoef::call(const Tensor& given) {
  if (given.defined() && is_wide_integer(given.dtype())) return cast(call(cast(given, DType::Float64)), kDefaultFloat);
  const Tensor x = variables_of(given, info.name);
  // Divided by their lengths before they are multiplied: the products may be beyond the range of numbers.
  const Tensor apart = centered(x, Dims{1});
  const Tensor directions = divide(apart, linalg::vector_norm(apart, Dims{1}, true));
  const Tensor products = matmul(directions, linalg::adjoint(directions));
  const Tensor y = products.numel() == 1 ? reshape(products, Dims{}) : products;
  if (!is_complex(y.dtype())) return clip(y, Scalar(-1), Scalar(1));
  const auto limited = [](const Tensor& part) { return clip(part, Scalar(-1), Scalar(1)); };
  return add(complex_from(limited(real(y))), complex_from_imaginary(limited(imag(y))));
}

}  // namespace lamella
