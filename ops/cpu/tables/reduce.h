#pragma once

#include <array>
#include <cstdint>

#include "engine/core/dtype.h"

namespace lamella::cpu {

enum class Reduction : std::uint8_t { Sum, Prod, Max, Min, Any, All, ArgMax, ArgMin, Count, NanSum, SquareSum };
/// Names of the reductions, in the order of the enum, as operators and error messages use them.
inline constexpr auto kReductionNames = std::to_array<const char*>(
    {"sum", "prod", "max", "min", "any", "all", "argmax", "argmin", "count_nonzero", "nansum", "square_sum"});
inline constexpr int kReductionCount = static_cast<int>(kReductionNames.size());

constexpr const char* name_of(Reduction reduction) { return kReductionNames[static_cast<std::size_t>(reduction)]; }

/// Kernels take at least one element. The result has the dtype of reduce_result(). Partial results are reduced further
/// by the kernels of combining(), which exist for that dtype too, except for the Arg reductions.
struct ReduceKernels {
  /// out[r] = reduction of row[0], row[step], ... row[(n - 1) * step], where row = x + r * row_step, for r < rows.
  using Rows = void (*)(const void* x, std::int64_t step, std::int64_t n, std::int64_t rows, std::int64_t row_step,
                        void* out);
  /// out[c] = reduction over r < n of x[r * step + c], for c < columns.
  using Columns = void (*)(const void* x, std::int64_t step, std::int64_t n, std::int64_t columns, void* out);

  Rows rows[kReductionCount][kDTypeCount] = {};
  Columns columns[kReductionCount][kDTypeCount] = {};

  /// Computes dx = dy times the conjugate of the product of all other elements of the row, for contiguous rows of n
  /// elements, or of the column, for columns of n elements `step` apart. For floats of at least 32 bits and complex
  /// numbers.
  void (*other_rows[kDTypeCount])(const void* x, const void* dy, void* dx, std::int64_t n, std::int64_t rows) = {};
  void (*other_columns[kDTypeCount])(const void* x, const void* dy, void* dx, std::int64_t step, std::int64_t n,
                                     std::int64_t columns) = {};
};

/// Returns the dtype that a kernel writes: int64 for sums and products of signed integers and bools, uint64 for those
/// of unsigned integers, int64 for positions and counts, bool for any and all, float32 for other reductions of 16-bit
/// floats, and `dtype` otherwise. NanSum (NaN counts as 0) and SquareSum (sum of squares) exist for floats only.
constexpr DType reduce_result(Reduction reduction, DType dtype) {
  const bool half = dtype == DType::Float16 || dtype == DType::BFloat16;
  switch (reduction) {
    case Reduction::Sum:
    case Reduction::Prod:
    case Reduction::NanSum:
    case Reduction::SquareSum:
      if (half) return DType::Float32;
      if (is_floating(dtype) || is_complex(dtype)) return dtype;
      return UnsignedInteger.contains(dtype) ? DType::UInt64 : DType::Int64;
    case Reduction::Max:
    case Reduction::Min:
      return half ? DType::Float32 : dtype;
    case Reduction::Any:
    case Reduction::All:
      return DType::Bool;
    case Reduction::ArgMax:
    case Reduction::ArgMin:
    case Reduction::Count:
      return DType::Int64;
  }
  return dtype;
}

/// Returns the reduction that combines partial results.
constexpr Reduction combining(Reduction reduction) {
  const bool sums =
      reduction == Reduction::Count || reduction == Reduction::NanSum || reduction == Reduction::SquareSum;
  return sums ? Reduction::Sum : reduction;
}

void fill_reduce_sums(ReduceKernels& kernels);
void fill_reduce_extrema(ReduceKernels& kernels);
void fill_reduce_truth(ReduceKernels& kernels);
void fill_reduce_positions(ReduceKernels& kernels);
void fill_reduce_others(ReduceKernels& kernels);

}  // namespace lamella::cpu
