#include "ops/index/ravel.h"

#include "engine/core/modes.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/scaled_sums.h"
#include "ops/index/loops.h"
#include "ops/index/picks.h"
#include "ops/movement/cast.h"
#include "ops/support/checks.h"
#include "ops/support/hidden.h"

namespace lamella {
namespace {

/// Returns the number of elements of a tensor of the shape.
std::int64_t checked_count(const Dims& shape, const char* op) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) {
    if (size < 0) fail<ValueError>("[", op, "] shape must not have negative sizes, got ", shape);
    if (__builtin_mul_overflow(count, size, &count))
      fail<ValueError>("[", op, "] a tensor of the shape ", shape, " has more elements than can be counted");
  }
  return count;
}

/// Returns positions as int64. Throws IndexError if one is not in [0, size), TypeError if the dtype is not an integer
/// dtype.
Tensor checked_positions(const Tensor& given, std::int64_t size, const OpInfo& info, const char* argument) {
  check_defined(given, info.name);
  check_dtype(given, info.dtypes, info.name);
  Tensor x = as_index(given, info.name);
  if (x.device().is_meta()) return x;
  const autograd::NoGrad no_grad;
  const Tensor whole = to_device(contiguous(is_batched(x) ? physical(x, *x->hidden) : x), kCPU);
  if (!all_in_range(whole.data<std::int64_t>(), whole.numel(), size))
    fail<IndexError>("[", info.name, "] ", argument, " must lie in [0, ", size, ")");
  return x;
}

}  // namespace

std::vector<Tensor> UnravelIndex::call(const Tensor& indices, const Dims& shape) {
  Tensor rest = checked_positions(indices, checked_count(shape, info.name), info, "indices");
  std::vector<Tensor> positions(shape.size());
  for (std::size_t i = shape.size(); i-- > 0;) {
    positions[i] = i == 0 ? rest : remainder(rest, shape[i]);
    if (i > 0) rest = floor_divide(rest, shape[i]);
  }
  return positions;
}

Tensor RavelMultiIndex::call(const std::vector<Tensor>& multi_index, const Dims& shape) {
  static_cast<void>(checked_count(shape, info.name));
  if (multi_index.size() != shape.size() || shape.empty()) {
    fail<ValueError>(
        "[ravel_multi_index] multi_index must hold one tensor for each axis of shape, and at least one; got ",
        multi_index.size(), " for ", shape);
  }
  Tensor flat;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const Tensor at = checked_positions(multi_index[i], shape[i], info, "positions along an axis");
    flat = i == 0 ? at : addcmul(at, flat, shape[i]);
  }
  return flat;
}

}  // namespace lamella
