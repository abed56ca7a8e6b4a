#pragma once

#include "engine/core/tensor.h"

namespace lamella {

/// Rows of a matrix by number: result[i] = x[rows[i]]. `x` is [n, width], contiguous or not; `rows` is int64, one axis,
/// contiguous, with values in [0, n): the caller has checked them. Its gradient is scatter_rows.
Tensor gather_rows(const Tensor& x, const Tensor& rows);
/// The transpose of gather_rows: a matrix of `count` rows, result[rows[i]] += x[i], summed in the order of i.
Tensor scatter_rows(const Tensor& x, const Tensor& rows, std::int64_t count);

/// What a device other than the CPU brings. Pointers to contiguous data.
struct RowKernels {
  void (*gather)(Device device, DType dtype, const void* x, const std::int64_t* rows, std::int64_t count,
                 std::int64_t width, void* out);
  /// `out` is zero before.
  void (*scatter)(Device device, DType dtype, const void* x, const std::int64_t* rows, std::int64_t count,
                  std::int64_t width, void* out, std::int64_t out_rows);
};
void register_row_kernels(DeviceType type, RowKernels kernels);

}  // namespace lamella
