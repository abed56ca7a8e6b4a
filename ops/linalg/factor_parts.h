#pragma once

#include <initializer_list>

#include "engine/core/tensor.h"
#include "ops/creation/creation.h"
#include "ops/movement/cast.h"
#include "ops/shape/permute.h"
#include "ops/support/checks.h"

// What the calls of LAPACK on tensors have in common: copies in its order, and tensors for what it finds.

namespace lamella::linalg {

/// Whether there is something to compute; NotImplementedError where it cannot be.
inline bool is_computed(const Tensor& x, const char* op) {
  if (x.device().is_meta()) return false;
  if (!x.device().is_cpu()) no_kernel(op, x.device());
  return true;
}

/// A row-major copy of the matrices.
inline Tensor rows_of(const Tensor& x) { return clone(x); }
/// A copy of the matrices column after column, as a tensor of their transposes.
inline Tensor columns_of(const Tensor& x) { return clone(matrix_transpose(x)); }
/// The matrices whose columns lie in `columns`, row-major.
inline Tensor from_columns(const Tensor& columns) { return contiguous(matrix_transpose(columns)); }

/// Makes x unit matrices, with no more rows than columns: what factorizations have where nothing is to be factored.
void write_unit(const Tensor& x);

/// x's shape with other last axes.
inline Tensor beside(const Tensor& x, std::initializer_list<std::int64_t> last, DType dtype) {
  Dims shape(x.shape().begin(), x.shape().end() - 2);
  for (const std::int64_t size : last) shape.push_back(size);
  return empty(shape, dtype, x.device());
}

}  // namespace lamella::linalg
