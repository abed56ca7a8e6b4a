#include "ops/sort/consecutive.h"

#include "engine/core/modes.h"
#include "ops/arrange/arrange.h"
#include "ops/creation/creation.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/index/nonzero.h"
#include "ops/index/take.h"
#include "ops/movement/cast.h"
#include "ops/reduce/extremum.h"
#include "ops/scan/cumulative.h"
#include "ops/shape/join.h"
#include "ops/shape/reshape.h"
#include "ops/support/checks.h"
#include "ops/support/hidden.h"
#include "ops/support/unfollowed.h"

namespace lamella {
namespace {

/// True if only the first element of each run of single elements is wanted.
bool wants_elements_only(const Tensor& x, bool return_inverse, bool return_counts) {
  const Tensor* const operands[] = {&x};
  return x.ndim() == 1 && !return_inverse && !return_counts && is_unfollowed(operands);
}

}  // namespace

Tensor beginnings(const Tensor& rows) {
  const std::int64_t n = rows.size(0);
  if (n == 0) return zeros({0}, DType::Bool, rows.device());
  const Tensor elements = not_equal(narrow(rows, 0, 1, n - 1), narrow(rows, 0, 0, n - 1));
  const Tensor differ = rows.size(1) == 1 ? reshape(elements, {n - 1}) : any(elements, Dims{1});
  return concat({ones({1}, DType::Bool, rows.device()), differ}, 0);
}

std::vector<Tensor> UniqueConsecutive::call(const Tensor& given, bool return_inverse, bool return_counts,
                                            std::optional<std::int64_t> axis) {
  check_defined(given, info.name);
  if (given.device().is_meta()) fail<RuntimeError>("[unique_consecutive] the number of values is not known on meta");
  if (is_batched(given)) {
    fail<RuntimeError>(
        "[unique_consecutive] under vmap the number of values differs between examples, so the result has no shape");
  }
  const std::int64_t at = axis ? normalize_axis(*axis, given.ndim(), info.name) : 0;
  const Tensor x = axis ? given : reshape(given, Dims{-1});
  const std::int64_t n = x.size(at);
  if (wants_elements_only(x, return_inverse, return_counts)) {
    const Tensor flat = contiguous(x);
    const Tensor firsts = true_elements(flat, beginnings(reshape(flat, {n, 1})));
    const Tensor* const inputs[] = {&x};
    autograd::note_derived(inputs, firsts);
    return {firsts};
  }
  const auto [positions, inverse] = [&] {
    const autograd::NoGrad no_grad;
    const Tensor front = moveaxis(x, Dims{at}, Dims{0});
    const std::int64_t width = count_elements(DimsView(front.shape()).last(front.ndim() - 1));
    const Tensor begins = beginnings(reshape(front, {n, width}));
    return std::pair(nonzero(begins)[0], return_inverse ? subtract(cumsum(begins, 0, DType::Int64), 1) : Tensor());
  }();
  std::vector<Tensor> results{take(x, positions, at)};
  if (return_inverse) results.push_back(axis ? inverse : reshape(inverse, given.shape()));
  if (return_counts) results.push_back(diff(concat({positions, full({1}, Scalar(n), DType::Int64, x.device())}, 0)));
  return results;
}

}  // namespace lamella
