#include "ops/random/in_place.h"

#include <limits>
#include <numbers>

#include "engine/autograd/recording/recorder.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/complex_forms.h"
#include "ops/elementwise/results.h"
#include "ops/random/distributions.h"
#include "ops/random/draw.h"
#include "ops/random/random.h"
#include "ops/shape/broadcast.h"
#include "ops/support/checks.h"
#include "ops/support/dtypes.h"
#include "ops/support/hidden.h"
#include "ops/support/strided.h"

namespace lamella {
namespace {

using random::Fill;

/// Calls `write` to overwrite x, which becomes a constant.
template <class Write>
Tensor overwrite(const OpInfo& info, const Tensor& x, Write&& write) {
  check_defined(x, info.name);
  check_dtype(x, info.dtypes, info.name);
  check_writable(x, info.name);
  const bool recorded = autograd::records_in_place(info.name, x, Tensor());
  {
    const autograd::NoGrad no_grad;
    write();
  }
  mark_written(x, info.name);
  if (recorded) autograd::take_place(x, Tensor());
  return x;
}

/// Overwrites x with the values of a new tensor of its shape.
template <class Draw>
Tensor overwrite_by(const OpInfo& info, const Tensor& x, Draw&& draw) {
  return overwrite(info, x, [&] {
    const Tensor values = draw();
    check_room(x, values, info.name);
    write_values(x, values, info.name);
  });
}

/// Overwrites x with the numbers of a fill, in place if its layout and dtype allow.
Tensor overwrite_by_fill(const OpInfo& info, const Tensor& x, const Fill& fill, Generator* generator) {
  const bool fits = x.defined() && (fill.kind == Fill::Kind::Integer ? is_integral(x.dtype()) : is_floating(x.dtype()));
  if (!fits || !random::takes_draws(x)) {
    return overwrite_by(info, x, [&] {
      const bool integers = fill.kind == Fill::Kind::Integer && !is_integral(x.dtype());
      return draw(info.name, fill, x.shape(), integers ? DType::Int64 : x.dtype(), x.device(), generator);
    });
  }
  return overwrite(info, x, [&] { draw_into(info.name, fill, x, generator); });
}

/// Overwrites both parts of complex numbers, adding `offset`.
Tensor overwrite_parts(const OpInfo& info, const Tensor& x, const Fill& fill, double offset, Generator* generator) {
  return overwrite_by(info, x, [&] {
    const Dims pairs = random::with_pairs(x.shape());
    const Tensor drawn =
        ViewAsComplex::call(draw(info.name, fill, pairs, real_dtype(x.dtype()), x.device(), generator));
    return offset == 0 ? drawn : drawn + offset;
  });
}

}  // namespace

Tensor UniformInPlace::call(const Tensor& x, double low, double high, Generator* generator) {
  check_defined(x, info.name);
  if (is_complex(x.dtype())) {
    const Fill fill = random::uniform_fill(info.name, low, high, real_dtype(x.dtype()));
    return overwrite_parts(info, x, fill, 0, generator);
  }
  return overwrite_by_fill(info, x, random::uniform_fill(info.name, low, high, x.dtype()), generator);
}

Tensor NormalInPlace::call(const Tensor& x, double mean, double std, Generator* generator) {
  if (!(std >= 0)) fail<ValueError>("[normal_] std cannot be negative, got ", std);
  check_defined(x, info.name);
  if (is_complex(x.dtype())) {
    return overwrite_parts(info, x, {.kind = Fill::Kind::Normal, .high = std / std::numbers::sqrt2}, mean, generator);
  }
  return overwrite_by_fill(info, x, {.kind = Fill::Kind::Normal, .low = mean, .high = std}, generator);
}

Tensor ExponentialInPlace::call(const Tensor& x, double rate, Generator* generator) {
  if (!(rate > 0)) fail<ValueError>("[exponential_] rate must be above 0, got ", rate);
  return overwrite_by_fill(info, x, {.kind = Fill::Kind::Exponential, .high = 1 / rate}, generator);
}

Tensor BernoulliInPlace::call(const Tensor& x, const Operand& p, Generator* generator) {
  if (p.is_number()) {
    const double value = p.number().to<double>();
    if (!(value >= 0 && value <= 1)) fail<ValueError>("[bernoulli_] p must lie in [0, 1], got ", value);
    return overwrite_by(info, x, [&] {
      return draw(info.name, random::coin_fill(value), x.shape(), DType::Bool, x.device(), generator);
    });
  }
  check_defined(p.tensor(), info.name);
  return overwrite_by(info, x, [&] {
    if (!broadcasts_to(p.tensor().shape(), x.shape())) {
      fail<ValueError>("[bernoulli_] p of shape ", p.tensor().shape(), " does not broadcast to the tensor's, ",
                       x.shape());
    }
    return bernoulli(broadcast_to(p.tensor(), x.shape()), generator);
  });
}

Tensor RandomInPlace::call(const Tensor& x, std::int64_t low, std::optional<std::int64_t> high, Generator* generator) {
  check_defined(x, info.name);
  check_dtype(x, info.dtypes, info.name);
  // Largest integer of the range, and the number of integers: for int64 the range may have up to 2^64 - 1.
  const std::int64_t last = high ? *high - 1 : visit<Real>(x.dtype(), info.name, [&]<class T>() -> std::int64_t {
    if constexpr (std::is_integral_v<T>) {
      return std::in_range<std::int64_t>(std::numeric_limits<T>::max())
                 ? static_cast<std::int64_t>(std::numeric_limits<T>::max())
                 : std::numeric_limits<std::int64_t>::max();
    } else {
      return std::int64_t{1} << (std::is_same_v<T, double>  ? 53
                                 : std::is_same_v<T, float> ? 24
                                 : std::is_same_v<T, Half>  ? 11
                                                            : 8);
    }
  });
  if (high && low >= *high) fail<ValueError>("[random_] low must be below high, got ", low, " and ", *high);
  if (low > last) fail<ValueError>("[random_] low must fit into dtype ", x.dtype(), ", got ", low);
  visit<Real>(x.dtype(), info.name, [&]<class T> {
    if constexpr (std::is_integral_v<T>) {
      if (!std::in_range<T>(low) || !std::in_range<T>(last))
        fail<ValueError>("[random_] ", x.dtype(), " does not hold all of [", low, ", ", last, "]");
    }
  });
  const std::uint64_t count = static_cast<std::uint64_t>(last) - static_cast<std::uint64_t>(low);
  const Fill fill{.kind = Fill::Kind::Integer,
                  .first = low,
                  .range = count == std::numeric_limits<std::uint64_t>::max() ? count : count + 1};
  return overwrite_by_fill(info, x, fill, generator);
}

Tensor CauchyInPlace::call(const Tensor& x, double loc, double scale, Generator* generator) {
  return overwrite_by(info, x, [&] { return cauchy(x.shape(), loc, scale, x.dtype(), x.device(), generator); });
}

Tensor LogNormalInPlace::call(const Tensor& x, double mean, double std, Generator* generator) {
  return overwrite_by(info, x, [&] { return log_normal(x.shape(), mean, std, x.dtype(), x.device(), generator); });
}

Tensor GeometricInPlace::call(const Tensor& x, double p, Generator* generator) {
  return overwrite_by(info, x, [&] { return geometric(x.shape(), p, x.dtype(), x.device(), generator); });
}

}  // namespace lamella
