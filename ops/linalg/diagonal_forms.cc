#include "ops/linalg/diagonal_forms.h"

#include <algorithm>

#include "engine/core/default_device.h"
#include "ops/arrange/arrange.h"
#include "ops/arrange/triangle.h"
#include "ops/linalg/diagonal.h"
#include "ops/movement/cast.h"
#include "ops/shape/reshape.h"
#include "ops/support/checks.h"
#include "ops/support/promotion.h"

namespace lamella {
namespace {

/// Returns square matrices, in the last two axes, with the rows of x on a diagonal.
Tensor with_diagonal(const Tensor& x, std::int64_t offset, const char* op) {
  const std::int64_t n = x.size(-1);
  std::int64_t size = 0;
  if (offset == std::numeric_limits<std::int64_t>::min() || __builtin_add_overflow(n, std::abs(offset), &size))
    fail<ValueError>("[", op, "] offset ", offset, " is too large: the result's size overflows");
  Dims shape = x.shape();
  shape.back() = size;
  shape.push_back(size);
  count_elements(shape);
  return on_diagonal(x, offset, shape);
}

/// Returns the row and column indices of the elements of a triangle, row by row.
Tensor triangle_indices(Side side, std::int64_t n_rows, std::int64_t n_cols, std::int64_t k,
                        std::optional<Device> device, const char* op) {
  if (n_rows < 0 || n_cols < 0)
    fail<ValueError>("[", op, "] sizes must not be negative, got ", n_rows, " and ", n_cols);
  const std::int64_t most = count_elements(Dims{n_rows, n_cols});
  // Skips rows without an element of the triangle, of which there may be many.
  const std::int64_t diagonal = std::clamp(k, -n_rows, n_cols);
  const std::int64_t first = most == 0 ? n_rows : side == Side::Lower ? std::max<std::int64_t>(0, -diagonal) : 0;
  const std::int64_t last = side == Side::Lower ? n_rows : std::clamp<std::int64_t>(n_cols - diagonal, 0, n_rows);
  std::int64_t count = 0;
  for (std::int64_t row = first; row < last; ++row) {
    const Kept kept = kept_columns(side, row, n_cols, k);
    count += kept.last - kept.first;
  }
  const Device target = device.value_or(default_device());
  if (target.is_meta()) return empty({2, count}, DType::Int64, kMeta);
  const Tensor places = empty({2, count}, DType::Int64);
  auto* rows = places.data<std::int64_t>();
  auto* columns = rows + count;
  for (std::int64_t row = first; row < last; ++row) {
    const Kept kept = kept_columns(side, row, n_cols, k);
    rows = std::fill_n(rows, kept.last - kept.first, row);
    for (std::int64_t column = kept.first; column < kept.last; ++column) *columns++ = column;
  }
  return to_device(places, target);
}

}  // namespace

Tensor Diag::call(const Tensor& x, std::int64_t k) {
  check_defined(x, info.name);
  if (x.ndim() == 1) return with_diagonal(x, k, info.name);
  if (x.ndim() != 2) fail<ValueError>("[diag] takes a vector or a matrix, got shape ", x.shape());
  return diagonal(x, k);
}

Tensor DiagEmbed::call(const Tensor& x, std::int64_t offset, std::int64_t axis1, std::int64_t axis2) {
  check_defined(x, info.name);
  if (x.ndim() == 0) fail<ValueError>("[diag_embed] needs at least one axis, got a 0-d tensor");
  const std::int64_t first = normalize_axis(axis1, x.ndim() + 1, info.name);
  const std::int64_t second = normalize_axis(axis2, x.ndim() + 1, info.name);
  if (first == second) fail<ValueError>("[diag_embed] axis1 and axis2 are both axis ", first, " of the result");
  // If first > second, the matrices are transposed, and the diagonal is on the other side.
  const Tensor y = with_diagonal(x, offset, info.name);
  return moveaxis(y, Dims{-2, -1}, Dims{first, second});
}

Tensor DiagFlat::call(const Tensor& x, std::int64_t k) {
  check_defined(x, info.name);
  return with_diagonal(reshape(x, {-1}), k, info.name);
}

Tensor DiagonalScatter::call(const Tensor& x, const Tensor& src, std::int64_t offset, std::int64_t axis1,
                             std::int64_t axis2) {
  check_defined(x, info.name);
  check_defined(src, info.name);
  check_same_device(x, src, info.name);
  const Tensor before = diagonal(x, offset, axis1, axis2);
  if (src.shape() != before.shape())
    fail<ValueError>("[diagonal_scatter] src must have the diagonal's shape ", before.shape(), ", got ", src.shape());
  if (!can_cast(src.dtype(), x.dtype()))
    fail<TypeError>("[diagonal_scatter] a src of dtype ", src.dtype(), " cannot be written into a tensor of dtype ",
                    x.dtype());
  return insert_diagonal(x, cast(src, x.dtype()), offset, axis1, axis2);
}

Tensor TrilIndices::call(std::int64_t n_rows, std::int64_t n_cols, std::int64_t k, std::optional<Device> device) {
  return triangle_indices(Side::Lower, n_rows, n_cols, k, device, info.name);
}

Tensor TriuIndices::call(std::int64_t n_rows, std::int64_t n_cols, std::int64_t k, std::optional<Device> device) {
  return triangle_indices(Side::Upper, n_rows, n_cols, k, device, info.name);
}

}  // namespace lamella
