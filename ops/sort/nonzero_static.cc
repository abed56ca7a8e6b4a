#include "ops/sort/nonzero_static.h"

#include <vector>

#include "ops/creation/creation.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/where.h"
#include "ops/index/nonzero.h"
#include "ops/movement/cast.h"
#include "ops/shape/join.h"
#include "ops/shape/reshape.h"
#include "ops/sort/sort.h"
#include "ops/support/checks.h"
#include "ops/support/hidden.h"

namespace lamella {
namespace {

/// Returns the result of nonzero_static, composed of operators that work on all examples of vmap.
Tensor first_places(const Tensor& x, std::int64_t size, std::int64_t fill_value) {
  const std::int64_t count = x.numel();
  const auto axes = static_cast<std::int64_t>(x.ndim());
  if (count == 0 || axes == 0) {
    return full({size, axes}, Scalar(fill_value), DType::Int64, x.device());
  }
  const Tensor given = full({size}, Scalar(count), DType::Int64, x.device());
  const Tensor own =
      where(reshape(cast(x, DType::Bool), {count}), arange(0, count, 1, DType::Int64, x.device()), count);
  const Tensor numbers = narrow(concat({sort(own), given}, 0), 0, 0, size);
  std::vector<Tensor> columns;
  std::int64_t step = count;
  for (const std::int64_t length : x.shape()) {
    step /= length;
    columns.push_back(where(less(numbers, count), remainder(floor_divide(numbers, step), length), fill_value));
  }
  return stack(columns, 1);
}

}  // namespace

Tensor NonzeroStatic::call(const Tensor& x, std::int64_t size, std::int64_t fill_value) {
  check_defined(x, info.name);
  if (size < 0) fail<ValueError>("[nonzero_static] size cannot be negative, got ", size);
  const auto axes = static_cast<std::int64_t>(x.ndim());
  if (x.device().is_meta()) return empty({size, axes}, DType::Int64, x.device());
  if (is_batched(x)) return first_places(x, size, fill_value);
  const Tensor places = true_places(x, info.name);
  const std::int64_t missing = size - places.size(0);
  if (missing <= 0) return contiguous(narrow(places, 0, 0, size));
  return concat({places, full({missing, axes}, Scalar(fill_value), DType::Int64, x.device())}, 0);
}

}  // namespace lamella
