#include "ops/nn/dropout.h"

#include <cmath>

#include "ops/creation/creation.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/masked_scale.h"
#include "ops/elementwise/where.h"
#include "ops/random/draw.h"
#include "ops/support/checks.h"

namespace lamella {
namespace {

void check(const OpInfo& info, const Tensor& x, double p, const Generator* generator) {
  check_defined(x, info.name);
  if (!(p >= 0 && p <= 1)) fail<ValueError>("[", info.name, "] p must lie in [0, 1], got ", p);
  check_dtype(x, info.dtypes, info.name);
  check_generator(info.name, generator, x.device());
}

/// Returns x's shape with size 1 for all axes behind that of the channels.
Dims channels_of(const Tensor& x, std::size_t channel_axis) {
  Dims shape = x.shape();
  for (std::size_t i = channel_axis + 1; i < shape.size(); ++i) shape[i] = 1;
  return shape;
}

// A mask with one element for many of x becomes a factor (and a term), which saves a pass over x.

/// Returns a mask of `shape` that is true with probability 1 - p.
Tensor kept(const OpInfo& info, const Tensor& x, const Dims& shape, double p, Generator* generator) {
  return draw(info.name, random::coin_fill(1 - p), shape, DType::Bool, x.device(), generator);
}

Tensor drop(const OpInfo& info, const Tensor& x, const Dims& shape, double p, bool training, Generator* generator) {
  if (!training || p == 0) return x;
  if (p == 1) return x * 0;
  const Tensor mask = kept(info, x, shape, p, generator);
  if (shape == x.shape()) return masked_scale(mask, x, 1 / (1 - p));
  return x * where(mask, full({}, 1 / (1 - p), x.dtype(), x.device()), 0);
}

/// Dropped elements become -scale alpha of selu. The mean is then -p scale alpha and the variance 1 - p + p (1 - p)
/// (scale alpha)^2; a shift and a factor restore 0 and 1.
Tensor alpha_drop(const OpInfo& info, const Tensor& x, const Dims& shape, double p, bool training,
                  Generator* generator) {
  constexpr double kLimit = 1.7580993408473766;
  if (!training || p == 0) return x;
  if (p == 1) return x * 0;
  const double factor = 1 / std::sqrt((1 - p) * (1 + p * kLimit * kLimit));
  const double shift = factor * p * kLimit;
  const Tensor mask = kept(info, x, shape, p, generator);
  if (shape == x.shape()) return where(mask, x * factor + shift, shift - factor * kLimit);
  const auto number = [&](double value) { return full({}, value, x.dtype(), x.device()); };
  return x * where(mask, number(factor), 0) + where(mask, number(shift), shift - factor * kLimit);
}

/// Drops whole channels. x has one of two numbers of axes, the larger one with a batch axis in front.
Tensor drop_channels(const OpInfo& info, const Tensor& x, std::size_t batched, std::size_t single,
                     std::size_t single_channel_axis, double p, bool training, Generator* generator) {
  check(info, x, p, generator);
  if (x.ndim() != batched && x.ndim() != single) {
    fail<ValueError>("[", info.name, "] x must have ", single, " or ", batched, " axes, got the shape ", x.shape());
  }
  return drop(info, x, channels_of(x, x.ndim() == batched ? 1 : single_channel_axis), p, training, generator);
}

}  // namespace

Tensor Dropout::call(const Tensor& x, double p, bool training, Generator* generator) {
  check(info, x, p, generator);
  return drop(info, x, x.shape(), p, training, generator);
}

Tensor Dropout1d::call(const Tensor& x, double p, bool training, Generator* generator) {
  return drop_channels(info, x, 3, 2, 0, p, training, generator);
}

Tensor Dropout2d::call(const Tensor& x, double p, bool training, Generator* generator) {
  return drop_channels(info, x, 4, 3, 1, p, training, generator);
}

Tensor Dropout3d::call(const Tensor& x, double p, bool training, Generator* generator) {
  return drop_channels(info, x, 5, 4, 0, p, training, generator);
}

Tensor AlphaDropout::call(const Tensor& x, double p, bool training, Generator* generator) {
  check(info, x, p, generator);
  return alpha_drop(info, x, x.shape(), p, training, generator);
}

Tensor FeatureAlphaDropout::call(const Tensor& x, double p, bool training, Generator* generator) {
  check(info, x, p, generator);
  if (x.ndim() < 2)
    fail<ValueError>("[feature_alpha_dropout] x must have at least 2 axes, [N, C, ...], got the shape ", x.shape());
  return alpha_drop(info, x, channels_of(x, 1), p, training, generator);
}

}  // namespace lamella
