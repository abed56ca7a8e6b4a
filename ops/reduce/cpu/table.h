#pragma once

#include <array>
#include <cstdint>

#include "engine/core/dtype.h"

namespace lamella::cpu {

enum class Reduction : std::uint8_t { Sum, Prod, Max, Min, Any, All, ArgMax, ArgMin, Count, NanSum, SquareSum };
/// Their names, in this order, as operators and errors have them.
inline constexpr auto kReductionNames = std::to_array<const char*>(
    {"sum", "prod", "max", "min", "any", "all", "argmax", "argmin", "count_nonzero", "nansum", "square_sum"});
inline constexpr int kReductionCount = static_cast<int>(kReductionNames.size());

constexpr const char* name_of(Reduction reduction) { return kReductionNames[static_cast<std::size_t>(reduction)]; }

/// Kernels take at least one element. The result's type is that of reduce_result(); partial results are reduced further
/// by the kernels of combining(), which exist for that type too (but for the Arg reductions).
struct ReduceKernels {
  /// out[r] = reduction of row[0], row[step], ... row[(n - 1) * step], where row = x + r * row_step, for r < rows.
  using Rows = void (*)(const void* x, std::int64_t step, std::int64_t n, std::int64_t rows, std::int64_t row_step,
                        void* out);
  /// out[c] = reduction over r < n of x[r * step + c], for c < columns.
  using Columns = void (*)(const void* x, std::int64_t step, std::int64_t n, std::int64_t columns, void* out);

  Rows rows[kReductionCount][kDTypeCount] = {};
  Columns columns[kReductionCount][kDTypeCount] = {};

  /// dx = dy times the conjugate of the product of all other elements of the same row, for contiguous rows of n; and
  /// of the same column, for columns of n elements `step` apart. For floats of 32 bits and more, and complex numbers.
  void (*other_rows[kDTypeCount])(const void* x, const void* dy, void* dx, std::int64_t n, std::int64_t rows) = {};
  void (*other_columns[kDTypeCount])(const void* x, const void* dy, void* dx, std::int64_t step, std::int64_t n,
                                     std::int64_t columns) = {};
};

/// NanSum takes NaN for 0, SquareSum adds the squares; both are for floats only.
///
/// What a kernel writes: int64 for sums and products of signed integers and bools, uint64 for those of unsigned ones,
/// int64 for positions and counts, bool for any and all, float32 for anything else of 16-bit floats, and the dtype
/// itself otherwise.
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

/// What partial results are reduced by.
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
