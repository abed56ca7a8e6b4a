#include "ops/nn/distance.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "engine/autograd/graph/running_pass.h"
#include "engine/autograd/recording/recorder.h"
#include "engine/core/modes.h"
#include "ops/arrange/arrange.h"
#include "ops/creation/creation.h"
#include "ops/elementwise/abs.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/extrema.h"
#include "ops/elementwise/where.h"
#include "ops/index/select.h"
#include "ops/index/take.h"
#include "ops/linalg/diagonal_forms.h"
#include "ops/linalg/norms.h"
#include "ops/movement/cast.h"
#include "ops/movement/halves.h"
#include "ops/nn/distance_rows.h"
#include "ops/reduce/extremum.h"
#include "ops/reduce/power_norm.h"
#include "ops/reduce/sum.h"
#include "ops/shape/reshape.h"
#include "ops/support/along.h"
#include "ops/support/autocast.h"
#include "ops/support/checks.h"
#include "ops/support/dtypes.h"
#include "ops/support/layer.h"

namespace lamella {
namespace {

/// Returns the p-norm of d along the last axis.
Tensor norm_of(const Tensor& d, double p) {
  if (p == 0) return cast(sum(not_equal(d, 0), -1), d.dtype());
  if (p == 1) return sum(abs(d), -1);
  if (std::isinf(p)) return d.size(-1) == 0 ? sum(abs(d), -1) : max(abs(d), -1);
  return power_norm(d, Dims{static_cast<std::int64_t>(d.ndim()) - 1}, false, p);
}

/// True if distances of norm p have a gradient kernel: weighted sums of differences (p = 2) or of their signs (p = 1).
bool has_gradient_kernel(double p) { return p == 1 || p == 2; }

/// Returns the weights of the differences, or of their signs for p = 1, given the gradient dy of the distances y.
Tensor weights_of(const Tensor& dy, const Tensor& y, double p) {
  if (p == 1) return dy;
  const Tensor none = equal(y, 0);
  return where(none, 0, divide(dy, where(none, 1, y)));
}
/// Returns the gradient of differences d whose distances have the gradient dy; recorded.
Tensor gradient_of_differences(const Tensor& d, const Tensor& dy, double p) {
  return multiply(p == 1 ? sign(d) : d, expand_dims(weights_of(dy, p == 1 ? dy : norm_of(d, p), p), -1));
}

/// Distances with p = 1 or 2 between all rows of a and b, which are contiguous and have the same leading axes.
struct DistancesLayer : OperatorLayer<DistancesLayer> {
  static constexpr std::string_view name = "cdist";

  static Tensor forward(Context& ctx, const Tensor& a, const Tensor& b, double p) {
    Tensor y = distance_rows::all_distances(a, b, p, "cdist");
    save_with<double>(ctx, p, a, b, y);
    return y;
  }
  static std::array<Tensor, 2> backward(Context& ctx, const Tensor& given) {
    const auto [a, b, y] = ctx.saved_tensors<3>();
    const double p = ctx.state<double>();
    const auto& edges = ctx.node()->edges();
    std::array<Tensor, 2> grads;
    if (!distance_rows::is_measured(a) || !distance_rows::is_measured(b) || !distance_rows::is_measured(given)) {
      const Tensor d = subtract(expand_dims(a, -2), expand_dims(b, -3));
      const Tensor dd = gradient_of_differences(d, given, p);
      return {sum(dd, -2), negative(sum(dd, -3))};
    }
    const Tensor weights = contiguous(weights_of(given, y, p));
    const auto side = [&](const Tensor& own, const Tensor& other, bool across) {
      return p == 1 ? distance_rows::weighted_differences(own, other, weights, across, true)
                    : distance_rows::weighted_differences(own, other, weights, y, across);
    };
    if (autograd::is_needed(edges[0])) grads[0] = side(contiguous(a), contiguous(b), false);
    if (autograd::is_needed(edges[1])) grads[1] = side(contiguous(b), contiguous(a), true);
    return grads;
  }
};

/// The rows of x in each pair, first and second.
struct Pairs {
  Tensor first;
  Tensor second;

  explicit Pairs(const Tensor& x) {
    const Tensor places = TriuIndices::call(x.size(0), x.size(0), 1, x.device());
    first = select(places, 0, 0);
    second = select(places, 0, 1);
  }
  Tensor differences(const Tensor& x) const { return subtract(take(x, first, 0), take(x, second, 0)); }
};

struct PairDistancesLayer : OperatorLayer<PairDistancesLayer> {
  static constexpr std::string_view name = "pdist";

  static Tensor forward(Context& ctx, const Tensor& x, double p) {
    Tensor y = distance_rows::pair_distances(x, p);
    save_with<double>(ctx, p, x, y);
    return y;
  }
  static Tensor backward(Context& ctx, const Tensor& given) {
    const auto [saved, y] = ctx.saved_tensors<2>();
    const double p = ctx.state<double>();
    if (!distance_rows::is_measured(saved) || !distance_rows::is_measured(given)) {
      const Pairs pairs(saved);
      const Tensor dd = gradient_of_differences(pairs.differences(saved), given, p);
      const Tensor zero = zeros(saved.shape(), saved.dtype(), saved.device());
      return index_add(index_add(zero, 0, pairs.first, dd), 0, pairs.second, negative(dd));
    }
    const Tensor x = contiguous(saved);
    return distance_rows::weighted_differences(
        x, x, distance_rows::square_form(contiguous(weights_of(given, y, p)), x.size(0)), false, p == 1);
  }
};

/// True if a recorded call can use DistancesLayer or PairDistancesLayer; forward mode uses the composition.
bool has_layer(const Tensor& x, double p) {
  return has_gradient_kernel(p) && distance_rows::has_kernel(x) && !autograd::duals_active() && !autograd::is_tracing();
}

void check_p(double p, const char* op) {
  if (!(p >= 0)) fail<ValueError>("[", op, "] p must be at least 0, got ", p);
}

}  // namespace

Tensor Cdist::call(const Tensor& x1, const Tensor& x2, double p) {
  if (autograd::autocast_active()) [[unlikely]]
    return call_in_autocast<Cdist>(x1, x2, p);
  check_p(p, info.name);
  if (are_wide_integers(x1, x2))
    return cast(call(cast(x1, DType::Float64), cast(x2, DType::Float64), p), kDefaultFloat);
  const Tensor a = as_floating(x1, info.name);
  const Tensor b = as_floating(x2, info.name);
  if (is_half(a.dtype()) && is_half(b.dtype()))
    return cast(call(cast(a, DType::Float32), cast(b, DType::Float32), p), promote_types(a.dtype(), b.dtype()));
  if (a.ndim() < 2 || b.ndim() < 2 || a.size(-1) != b.size(-1)) {
    fail<ValueError>("[cdist] needs matrices with rows of the same size, got the shapes ", x1.shape(), " and ",
                     x2.shape());
  }
  const bool measured = a.dtype() == b.dtype() && distance_rows::is_measured(a) && distance_rows::is_measured(b);
  if (measured) return distance_rows::all_distances(a, b, p, info.name);
  if (a.dtype() == b.dtype() && has_layer(a, p) && has_layer(b, p)) {
    const auto [x, y] = distance_rows::whole_batches(a, b, info.name);
    return DistancesLayer::apply(x, y, p);
  }
  return norm_of(subtract(expand_dims(a, -2), expand_dims(b, -3)), p);
}

Tensor Pdist::call(const Tensor& given, double p) {
  if (autograd::autocast_active()) [[unlikely]]
    return call_in_autocast<Pdist>(given, p);
  check_p(p, info.name);
  if (given.defined() && is_wide_integer(given.dtype()))
    return cast(call(cast(given, DType::Float64), p), kDefaultFloat);
  const Tensor x = as_floating(given, info.name);
  if (x.ndim() != 2) fail<ValueError>("[pdist] takes a matrix, got shape ", x.shape());
  if (is_half(x.dtype())) return cast(call(cast(x, DType::Float32), p), x.dtype());
  const bool on_cpu = x.device().is_cpu();
  if (on_cpu && distance_rows::is_measured(x)) return distance_rows::pair_distances(x, p);
  if (on_cpu && has_layer(x, p)) return PairDistancesLayer::apply(x, p);
  return norm_of(Pairs(x).differences(x), p);
}

Tensor Dist::call(const Tensor& x1, const Tensor& x2, double p) {
  if (autograd::autocast_active()) [[unlikely]]
    return call_in_autocast<Dist>(x1, x2, p);
  if (are_wide_integers(x1, x2))
    return cast(call(cast(x1, DType::Float64), cast(x2, DType::Float64), p), kDefaultFloat);
  const Tensor difference = subtract(as_inexact(x1, info.name), as_inexact(x2, info.name));
  const Tensor flat = reshape(is_complex(difference.dtype()) ? abs(difference) : difference, {-1});
  if (p >= 0) return cast(norm_of(cast(flat, promote_types(flat.dtype(), DType::Float32)), p), flat.dtype());
  return LinalgVectorNorm::call(flat, Dims{0}, false, p);
}

Tensor Normalize::call(const Tensor& given, double p, const Dims& axis, double eps) {
  const Tensor x = as_inexact(given, info.name);
  if (x.ndim() == 0) return reshape(call(reshape(x, {1}), p, axis, eps), Dims{});
  if (any_half(x)) [[unlikely]]
    return call_in_float32<Normalize>(x, p, axis, eps);
  return divide(x, maximum(LinalgVectorNorm::call(x, axis, true, p), eps));
}

Tensor Renorm::call(const Tensor& given, double p, std::int64_t axis, double maxnorm) {
  const Tensor x = as_inexact(given, info.name);
  if (!(p > 0)) fail<ValueError>("[renorm] p must be above 0, got ", p);
  if (!(maxnorm >= 0)) fail<ValueError>("[renorm] maxnorm must not be negative, got ", maxnorm);
  if (x.ndim() < 2) fail<ValueError>("[renorm] needs at least two axes, got shape ", x.shape());
  const std::int64_t at = normalize_axis(axis, x.ndim(), info.name);
  Dims others;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(x.ndim()); ++i) {
    if (i != at) others.push_back(i);
  }
  constexpr double kSmall = 1e-7;  // as in PyTorch, so that the rounded result does not exceed maxnorm
  const Tensor norms = LinalgVectorNorm::call(x, others, true, p);
  const Tensor large = greater(norms, maxnorm);
  // Divided before it is multiplied: the derivative of maxnorm / norm would be as small as the norm's square is large.
  const Tensor units = divide(x, add(where(large, norms, 1), kSmall));
  return where(large, multiply(units, maxnorm), x);
}

}  // namespace lamella
