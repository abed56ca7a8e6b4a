#include "ops/nn/loss.h"

#include "ops/creation/creation.h"
#include "ops/elementwise/list.h"
#include "ops/index/picks.h"
#include "ops/index/rows.h"
#include "ops/nn/softmax.h"
#include "ops/reduce/sum.h"
#include "ops/shape/reshape.h"
#include "ops/support/autocast.h"

namespace lamella {
namespace {

Tensor reduce_loss(const Tensor& loss, std::string_view reduction, const char* op) {
  if (reduction == "mean") return mean(loss);
  if (reduction == "sum") return sum(loss);
  if (reduction == "none") return loss;
  fail<ValueError>("[", op, "] reduction must be \"mean\", \"sum\" or \"none\", got \"", reduction, "\"");
}

}  // namespace

Tensor CrossEntropy::call(const Tensor& input, const Tensor& target, std::string_view reduction) {
  if (autograd::autocast_active()) [[unlikely]]
    return call_in_autocast<CrossEntropy>(input, target, reduction);
  if (input.ndim() == 0) fail<ValueError>("[cross_entropy] input needs an axis of classes, got a 0-d tensor");
  if (!is_integral(target.dtype()))
    fail<TypeError>("[cross_entropy] target must hold class numbers, got ", target.dtype());
  const Dims batch(input.shape().begin(), input.shape().end() - 1);
  if (target.shape() != batch) {
    fail<ValueError>("[cross_entropy] target must have the shape of input without its last axis, ", batch, ", got ",
                     target.shape());
  }
  const std::int64_t classes = input.shape().back();
  const std::int64_t samples = target.numel();
  const Tensor log_probabilities = log_softmax(input);
  const Tensor sample = arange(0, Scalar(samples), 1, DType::Int64, input.device());
  const Tensor chosen[] = {sample, reshape(as_index(target, "cross_entropy"), Dims{samples})};
  const Tensor rows = pick_rows(chosen, Dims{samples, classes}, Dims{0, static_cast<std::int64_t>(input.ndim()) - 1},
                                "cross_entropy", NegativeIndex::Refuse);
  const Tensor picked = gather_rows(reshape(log_probabilities, Dims{samples * classes, 1}), rows);
  return reduce_loss(-reshape(picked, batch), reduction, "cross_entropy");
}

Tensor MseLoss::call(const Tensor& input, const Tensor& target, std::string_view reduction) {
  if (autograd::autocast_active()) [[unlikely]]
    return call_in_autocast<MseLoss>(input, target, reduction);
  if (input.shape() != target.shape()) {
    fail<ValueError>("[mse_loss] input and target must have the same shape, got ", input.shape(), " and ",
                     target.shape());
  }
  return reduce_loss(square(input - target), reduction, "mse_loss");
}

}  // namespace lamella
