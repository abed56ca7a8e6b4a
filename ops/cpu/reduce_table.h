#pragma once

#include <cstdint>

#include "engine/core/dtype.h"

namespace lamella::cpu {

enum class Reduction : std::uint8_t { Sum, Prod, Max, Min, Any, All, ArgMax, ArgMin };
inline constexpr int kReductionCount = 8;

/// Kernels take at least one element. The result's type is that of the table on reduce_result(); all pairs of a
/// reduction and its own result type exist too (but for the Arg ones), so that partial results can be reduced further.
struct ReduceKernels {
  /// *out = reduction of x[0], x[step], ... x[(n - 1) * step].
  using Row = void (*)(const void* x, std::int64_t step, std::int64_t n, void* out);
  /// out[c] = reduction over r < n of x[r * step + c], for c < columns.
  using Columns = void (*)(const void* x, std::int64_t step, std::int64_t n, std::int64_t columns, void* out);

  Row row[kReductionCount][kDTypeCount] = {};
  Columns columns[kReductionCount][kDTypeCount] = {};
};

/// int64 for sums and products of integers and bools, and for positions; bool for any and all; the dtype itself
/// otherwise.
constexpr DType reduce_result(Reduction reduction, DType dtype) {
  switch (reduction) {
    case Reduction::Sum:
    case Reduction::Prod:
      return is_floating(dtype) || is_complex(dtype) ? dtype : DType::Int64;
    case Reduction::Max:
    case Reduction::Min:
      return dtype;
    case Reduction::Any:
    case Reduction::All:
      return DType::Bool;
    case Reduction::ArgMax:
    case Reduction::ArgMin:
      return DType::Int64;
  }
  return dtype;
}

void fill_reduce(ReduceKernels& kernels);
void fill_reduce_positions(ReduceKernels& kernels);

}  // namespace lamella::cpu
