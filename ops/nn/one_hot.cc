#include "ops/nn/one_hot.h"

#include "ops/creation/creation.h"
#include "ops/elementwise/list.h"
#include "ops/index/picks.h"
#include "ops/movement/cast.h"
#include "ops/reduce/extremum.h"
#include "ops/shape/reshape.h"
#include "ops/support/hidden.h"

namespace lamella {

Tensor OneHot::call(const Tensor& x, std::int64_t num_classes) {
  if (num_classes < -1) fail<ValueError>("[one_hot] num_classes must be at least 0, or -1, got ", num_classes);
  const Tensor classes = as_index(x, "one_hot");
  if (num_classes == -1) {
    if (x.numel() == 0) fail<ValueError>("[one_hot] num_classes must be given for a tensor without elements");
    // Under vmap this refuses: each example could have another number of classes.
    num_classes = *to_device(max(classes), kCPU).data<std::int64_t>() + 1;
  }
  const Tensor checked[] = {classes};
  const Tensor numbers = pick_rows(checked, Dims{num_classes}, Dims{0}, "one_hot", NegativeIndex::Refuse);
  if (x.device().is_cpu() && !is_batched(x)) {
    Dims shape = x.shape();
    shape.push_back(num_classes);
    const Tensor result = zeros(shape, DType::Int64);
    const auto* const ones = numbers.data<std::int64_t>();
    auto* const to = result.data<std::int64_t>();
    for (std::int64_t i = 0; i < numbers.numel(); ++i) to[i * num_classes + ones[i]] = 1;
    return result;
  }
  return cast(expand_dims(classes, -1) == arange(0, Scalar(num_classes), 1, DType::Int64, x.device()), DType::Int64);
}

}  // namespace lamella
