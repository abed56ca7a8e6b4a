#pragma once

#include <initializer_list>

#include "engine/core/tensor.h"
#include "ops/creation/creation.h"
#include "ops/movement/cast.h"
#include "ops/shape/permute.h"
#include "ops/support/checks.h"

// Common parts of the calls of LAPACK on tensors: copies in its order, and result tensors.

namespace lamella::linalg {

/// Returns false on meta, where nothing is computed; throws NotImplementedError on devices other than the CPU.
inline bool is_computed(const Tensor& x, const char* op) {
  if (x.device().is_meta()) return false;
  if (!x.device().is_cpu()) no_kernel(op, x.device());
  return true;
}

/// Returns a row-major copy of the matrices.
inline Tensor rows_of(const Tensor& x) { return clone(x); }
/// Returns a column-major copy of the matrices, as a tensor of their transposes.
inline Tensor columns_of(const Tensor& x) { return clone(matrix_transpose(x)); }
/// Returns row-major matrices from column-major ones.
inline Tensor from_columns(const Tensor& columns) { return contiguous(matrix_transpose(columns)); }

/// Overwrites x with unit matrices, with no more rows than columns: the factors of empty matrices.
void write_unit(const Tensor& x);

/// Returns an uninitialized tensor with x's shape and other last axes.
inline Tensor beside(const Tensor& x, std::initializer_list<std::int64_t> last, DType dtype) {
  Dims shape(x.shape().begin(), x.shape().end() - 2);
  for (const std::int64_t size : last) shape.push_back(size);
  return empty(shape, dtype, x.device());
}

}  // namespace lamella::linalg
