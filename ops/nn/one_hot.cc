#include "ops/nn/one_hot.h"

#include <algorithm>

#include "engine/core/host.h"
#include "engine/runtime/parallel.h"
#include "ops/creation/creation.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/index/picks.h"
#include "ops/movement/cast.h"
#include "ops/reduce/extremum.h"
#include "ops/shape/reshape.h"
#include "ops/support/hidden.h"

namespace lamella {
namespace {

/// Returns zeros with a 1 at each element's value along a new last axis, in dtype T.
template <class T>
Tensor marked(const Tensor& x, std::int64_t num_classes, const char* op) {
  const Tensor classes = as_index(x, op);
  const Tensor checked[] = {classes};
  const Tensor numbers = pick_rows(checked, Dims{num_classes}, Dims{0}, op, NegativeIndex::Refuse);
  if (x.device().is_cpu() && !is_batched(x)) {
    Dims shape = x.shape();
    shape.push_back(num_classes);
    const Tensor result = empty(shape, dtype_of<T>);
    const auto* const ones = numbers.data<std::int64_t>();
    T* const to = result.data<T>();
    const HostRelease release(result.numel());
    // Each 1 is written while the zeros around it are still in the L1 cache.
    const std::int64_t at_once = std::max<std::int64_t>(1, 1024 / std::max<std::int64_t>(1, num_classes));
    parallel_for(0, numbers.numel(), 16 * at_once, [&](std::int64_t begin, std::int64_t end) {
      for (; begin < end; begin += at_once) {
        const std::int64_t last = std::min(begin + at_once, end);
        std::fill(to + begin * num_classes, to + last * num_classes, T(0));
        for (std::int64_t i = begin; i < last; ++i) to[i * num_classes + ones[i]] = T(1);
      }
    });
    return result;
  }
  return cast(expand_dims(classes, -1) == arange(0, Scalar(num_classes), 1, DType::Int64, x.device()), dtype_of<T>);
}

}  // namespace

Tensor one_hot_mask(const Tensor& x, std::int64_t num_classes, const char* op) {
  return marked<bool>(x, num_classes, op);
}

Tensor OneHot::call(const Tensor& x, std::int64_t num_classes) {
  if (num_classes < -1) fail<ValueError>("[one_hot] num_classes must be at least 0, or -1, got ", num_classes);
  if (num_classes == -1) {
    if (x.numel() == 0) fail<ValueError>("[one_hot] num_classes must be given for a tensor without elements");
    // Throws under vmap, because each example could have another number of classes.
    const std::int64_t last = *to_device(max(as_index(x, "one_hot")), kCPU).data<std::int64_t>();
    if (__builtin_add_overflow(last, 1, &num_classes))
      fail<ValueError>("[one_hot] class ", last, " is too large: the number of classes overflows");
  }
  return marked<std::int64_t>(x, num_classes, "one_hot");
}

}  // namespace lamella
