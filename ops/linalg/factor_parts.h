#pragma once

#include <initializer_list>

#include "engine/core/tensor.h"
#include "ops/creation/creation.h"
#include "ops/extension/extension.h"
#include "ops/movement/cast.h"
#include "ops/shape/permute.h"
#include "ops/support/checks.h"
#include "ops/support/hidden.h"

// Common parts of the calls of LAPACK on tensors: copies in its order, and result tensors.

namespace lamella::linalg {

/// Returns false on meta, where nothing is computed; throws NotImplementedError on devices other than the CPU.
inline bool is_computed(const Tensor& x, const char* op) {
  if (x.device().is_meta()) return false;
  if (!x.device().is_cpu()) no_kernel(op, x.device());
  return true;
}

/// True if LAPACK may see the memory of x: no axis is hidden, and it is not on a device of an extension.
inline bool is_plain(const Tensor& x) { return !is_batched(x) && !is_extension(x.device()); }
/// Returns f(plain tensors) for tensors of one device of which at least one is not plain.
template <class F, class... Tensors>
auto with_plain(const char* op, F&& f, const Tensor& x, const Tensors&... xs) {
  if (is_batched(pointers(x, xs...))) return over_examples(f, x, xs...);
  return on_host(op, x.device(), f, x, xs...);
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
