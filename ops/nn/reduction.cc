#include "ops/nn/reduction.h"

#include "engine/core/error.h"
#include "ops/reduce/sum.h"

namespace lamella {

void check_reduction(std::string_view reduction, const char* op) {
  if (reduction != "mean" && reduction != "sum" && reduction != "none")
    fail<ValueError>("[", op, "] reduction must be \"mean\", \"sum\" or \"none\", got \"", reduction, "\"");
}

Tensor reduce_loss(const Tensor& terms, std::string_view reduction, const char* op) {
  check_reduction(reduction, op);
  if (reduction == "mean") return mean(terms);
  return reduction == "sum" ? sum(terms) : terms;
}

void check_same_shape(const Tensor& input, const Tensor& target, const char* op) {
  if (input.shape() != target.shape()) {
    fail<ValueError>("[", op, "] input and target must have the same shape, got ", input.shape(), " and ",
                     target.shape());
  }
}

}  // namespace lamella
