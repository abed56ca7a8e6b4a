#include "ops/nn/margin_loss.h"

#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/clip.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/extrema.h"
#include "ops/elementwise/parts.h"
#include "ops/elementwise/relu.h"
#include "ops/elementwise/square.h"
#include "ops/elementwise/where.h"
#include "ops/index/take.h"
#include "ops/movement/cast.h"
#include "ops/movement/halves.h"
#include "ops/movement/integers.h"
#include "ops/nn/one_hot.h"
#include "ops/nn/reduction.h"
#include "ops/nn/similarity.h"
#include "ops/reduce/power_norm.h"
#include "ops/reduce/sum.h"
#include "ops/shape/reshape.h"
#include "ops/support/autocast.h"
#include "ops/support/checks.h"
#include "ops/support/dtypes.h"

namespace lamella {
namespace {

/// Returns max(x, 0) with the whole gradient at 0.
Tensor hinge(const Tensor& x) { return clip(x, Operand(0), std::nullopt); }

}  // namespace

Tensor HingeEmbeddingLoss::call(const Tensor& input, const Tensor& target, double margin, std::string_view reduction) {
  if (autograd::autocast_active()) [[unlikely]]
    return call_in_autocast<HingeEmbeddingLoss>(input, target, margin, reduction);
  if (any_half(input)) [[unlikely]]
    return call_in_float32_for<HingeEmbeddingLoss>(input.dtype(), input, target, margin, reduction);
  if (any_integer(input)) return call_in_floats<HingeEmbeddingLoss>(input, target, margin, reduction);
  check_same_shape(input, target, info.name);
  const Tensor terms = where(target != 1, hinge(margin - input), 0) + where(target != -1, input, 0);
  return reduce_loss(terms, reduction, info.name);
}

Tensor MarginRankingLoss::call(const Tensor& input1, const Tensor& input2, const Tensor& target, double margin,
                               std::string_view reduction) {
  if (autograd::autocast_active()) [[unlikely]]
    return call_in_autocast<MarginRankingLoss>(input1, input2, target, margin, reduction);
  if (any_half(input1, input2, target)) [[unlikely]]
    return call_in_float32<MarginRankingLoss>(input1, input2, target, margin, reduction);
  if (any_integer(input1, input2, target))
    return call_in_floats<MarginRankingLoss>(input1, input2, target, margin, reduction);
  if (input1.shape() != input2.shape() || input1.ndim() != target.ndim()) {
    fail<ValueError>("[margin_ranking_loss] input1 and input2 must have one shape, and target as many axes, got ",
                     input1.shape(), ", ", input2.shape(), " and ", target.shape());
  }
  return reduce_loss(hinge(-target * (input1 - input2) + margin), reduction, info.name);
}

Tensor CosineEmbeddingLoss::call(const Tensor& input1, const Tensor& input2, const Tensor& target, double margin,
                                 std::string_view reduction) {
  if (autograd::autocast_active()) [[unlikely]]
    return call_in_autocast<CosineEmbeddingLoss>(input1, input2, target, margin, reduction);
  if (input1.shape() != input2.shape() || input1.ndim() != target.ndim() + 1 || target.ndim() > 1) {
    fail<ValueError>(
        "[cosine_embedding_loss] needs two inputs [samples, size] and a target [samples], or two inputs [size] and a "
        "0-d target; got the shapes ",
        input1.shape(), ", ", input2.shape(), " and ", target.shape());
  }
  const Tensor a = as_floating(input1, info.name);
  const Tensor b = as_floating(input2, info.name);
  if (any_half(a, b)) [[unlikely]] {
    const DType dtype = promote_types(a.dtype(), b.dtype());
    return call_in_float32_for<CosineEmbeddingLoss>(dtype, a, b, target, margin, reduction);
  }
  // PyTorch's formula, a b / sqrt((a a + 1e-12) (b b + 1e-12)), by directions, which are never beyond the range.
  const auto direction = [](const Tensor& x) {
    return x / hypot(power_norm(x, {static_cast<std::int64_t>(x.ndim()) - 1}, true, 2), 1e-6);
  };
  const Tensor cosine = sum(direction(a) * direction(b), -1);
  const Tensor terms = where(target == 1, 1 - cosine, 0) + where(target == -1, hinge(cosine - margin), 0);
  return reduce_loss(terms, reduction, info.name);
}

Tensor TripletMarginLoss::call(const Tensor& anchor, const Tensor& positive, const Tensor& negative, double margin,
                               double p, double eps, bool swap, std::string_view reduction) {
  if (autograd::autocast_active()) [[unlikely]]
    return call_in_autocast<TripletMarginLoss>(anchor, positive, negative, margin, p, eps, swap, reduction);
  if (any_half(anchor, positive, negative)) [[unlikely]]
    return call_in_float32<TripletMarginLoss>(anchor, positive, negative, margin, p, eps, swap, reduction);
  if (any_integer(anchor, positive, negative))
    return call_in_floats<TripletMarginLoss>(anchor, positive, negative, margin, p, eps, swap, reduction);
  if (anchor.ndim() != positive.ndim() || anchor.ndim() != negative.ndim()) {
    fail<ValueError>("[triplet_margin_loss] anchor, positive and negative must have as many axes, got the shapes ",
                     anchor.shape(), ", ", positive.shape(), " and ", negative.shape());
  }
  if (!(margin > 0)) fail<ValueError>("[triplet_margin_loss] margin must be above 0, got ", margin);
  const Tensor near = pairwise_distance(anchor, positive, p, eps);
  Tensor far = pairwise_distance(anchor, negative, p, eps);
  if (swap) far = minimum(far, pairwise_distance(positive, negative, p, eps));
  return reduce_loss(hinge(margin + near - far), reduction, info.name);
}

Tensor MultiMarginLoss::call(const Tensor& input, const Tensor& target, std::int64_t p, double margin,
                             const std::optional<Tensor>& weight, std::string_view reduction) {
  if (autograd::autocast_active()) [[unlikely]]
    return call_in_autocast<MultiMarginLoss>(input, target, p, margin, weight, reduction);
  if (any_half(input, target, weight)) [[unlikely]]
    return call_in_float32<MultiMarginLoss>(input, target, p, margin, weight, reduction);
  if (any_integer(input, weight))
    return call_in_floats<MultiMarginLoss>(input, AsIs{target}, p, margin, weight, reduction);
  if (p != 1 && p != 2) fail<ValueError>("[multi_margin_loss] p must be 1 or 2, got ", p);
  check_defined(input, info.name);
  check_defined(target, info.name);
  if (input.ndim() == 0) return call(reshape(input, {1}), target, p, margin, weight, reduction);
  if (input.ndim() == 1 && target.shape() == Dims{1})
    return call(reshape(input, {1, input.numel()}), target, p, margin, weight, reduction);
  if (input.ndim() > 2 || target.shape() != Dims(input.shape().begin(), input.shape().end() - 1)) {
    fail<ValueError>(
        "[multi_margin_loss] input must be [samples, classes] or [classes], and target its shape without the last "
        "axis; got ",
        input.shape(), " and ", target.shape());
  }
  const std::int64_t classes = input.size(-1);
  if (weight && (weight->ndim() != 1 || weight->numel() != classes)) {
    fail<ValueError>("[multi_margin_loss] weight must have an element for each of the ", classes,
                     " classes, got the shape ", weight->shape());
  }
  const Tensor is_target = one_hot_mask(target, classes, info.name);
  const Tensor own = sum(where(is_target, input, 0), -1, true);
  Tensor terms = relu(margin - own + input);
  if (p == 2) terms = square(terms);
  if (weight) terms = terms * expand_dims(take(*weight, target, 0), -1);
  terms = where(is_target, 0, terms);
  // The mean over the samples of the means over their classes.
  if (reduction == "mean") return mean(terms);
  return reduce_loss(sum(terms, -1) / static_cast<double>(classes), reduction, info.name);
}

}  // namespace lamella
