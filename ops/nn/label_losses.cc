#include "ops/nn/label_losses.h"

#include <limits>

#include "ops/creation/creation.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/relu.h"
#include "ops/elementwise/softplus.h"
#include "ops/elementwise/where.h"
#include "ops/index/gather.h"
#include "ops/index/picks.h"
#include "ops/index/take.h"
#include "ops/movement/cast.h"
#include "ops/movement/halves.h"
#include "ops/movement/integers.h"
#include "ops/nn/reduction.h"
#include "ops/reduce/sum.h"
#include "ops/scan/cumulative.h"
#include "ops/shape/join.h"
#include "ops/shape/reshape.h"
#include "ops/support/autocast.h"
#include "ops/support/checks.h"

namespace lamella {

Tensor MultiLabelMarginLoss::call(const Tensor& input, const Tensor& target, std::string_view reduction) {
  if (autograd::autocast_active()) [[unlikely]]
    return call_in_autocast<MultiLabelMarginLoss>(input, target, reduction);
  if (any_half(input, target)) [[unlikely]]
    return call_in_float32<MultiLabelMarginLoss>(input, target, reduction);
  if (any_integer(input)) return call_in_floats<MultiLabelMarginLoss>(input, AsIs{target}, reduction);
  check_reduction(reduction, info.name);
  if (input.ndim() == 0 && target.numel() == 1) return call(reshape(input, {1}), reshape(target, {1}), reduction);
  check_same_shape(input, target, info.name);
  if (input.ndim() == 0 || input.ndim() > 2 || input.size(-1) == 0) {
    fail<ValueError>(
        "[multilabel_margin_loss] input must be [samples, classes] or [classes], with at least one class, "
        "got the shape ",
        input.shape());
  }
  if (!is_integral(target.dtype()))
    fail<TypeError>("[multilabel_margin_loss] target must hold integers, got dtype ", target.dtype());
  const Tensor given = as_index(target, "multilabel_margin_loss");
  const std::int64_t classes = input.size(-1);
  // Labels end at the first -1; what follows does not count.
  const Tensor valid = greater(cumprod(cast(greater_equal(given, 0), DType::Int64), -1), 0);
  const Tensor labels = where(valid, given, 0);
  const Tensor own = take_along_axis(input, labels, -1);
  // Positions without a label are marked in an extra column.
  Dims shape = input.shape();
  shape.back() = classes + 1;
  const Tensor marks = scatter(zeros(shape, DType::Bool, input.device()), -1, where(valid, given, classes), true);
  const Tensor is_label = narrow(marks, -1, 0, classes);
  // Infinities remove the terms that do not count, without a mask for each pair.
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const Tensor others = add(where(is_label, -kInfinity, input), 1);
  const Tensor terms = relu(subtract(expand_dims(others, -2), expand_dims(where(valid, own, kInfinity), -1)));
  const Tensor sums = sum(terms, Dims{-2, -1});
  return reduce_loss(divide(sums, static_cast<double>(classes)), reduction, info.name);
}

Tensor MultiLabelSoftMarginLoss::call(const Tensor& input, const Tensor& target, const std::optional<Tensor>& weight,
                                      std::string_view reduction) {
  if (autograd::autocast_active()) [[unlikely]]
    return call_in_autocast<MultiLabelSoftMarginLoss>(input, target, weight, reduction);
  if (any_half(input, target, weight)) [[unlikely]]
    return call_in_float32<MultiLabelSoftMarginLoss>(input, target, weight, reduction);
  if (any_integer(input, target, weight))
    return call_in_floats<MultiLabelSoftMarginLoss>(input, target, weight, reduction);
  check_reduction(reduction, info.name);
  check_same_shape(input, target, info.name);
  if (input.ndim() == 0) fail<ValueError>("[multilabel_soft_margin_loss] input needs an axis of classes");
  Tensor terms =
      negative(add(multiply(target, log_sigmoid(input)), multiply(subtract(1, target), log_sigmoid(negative(input)))));
  if (weight) terms = multiply(terms, *weight);
  return reduce_loss(mean(terms, -1), reduction, info.name);
}

}  // namespace lamella
