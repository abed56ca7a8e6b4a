#pragma once

#include <cstdint>

#include "engine/core/dtype.h"

namespace lamella::cpu {

/// `count` contiguous row-major matrices of `rows` x `columns` numbers, which are overwritten by their factors.
/// `pivots` receives the exchange of each row, counted from 1.
struct LuArgs {
  void* matrices = nullptr;
  std::int32_t* pivots = nullptr;
  std::int64_t count = 0;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};

/// Largest number of rows and of columns that the small kernel supports.
inline constexpr std::int64_t kMostLuRows = 64;

/// A step in the factorization of one large matrix, whose rows are contiguous and `row` elements apart: the `count`
/// columns (at most kMostLuRows) from `first` on, in the rows from `first` on.
struct LuStepArgs {
  void* matrix = nullptr;
  std::int64_t row = 0;
  std::int64_t rows = 0;
  std::int64_t first = 0;
  std::int64_t count = 0;
  std::int32_t* pivots = nullptr;  ///< pivots of the whole matrix, counted from 1
  /// The factored columns, transposed, lu_panel_row() elements apart; for the updates of other columns.
  void* panel = nullptr;
  /// The range of columns that are exchanged or updated.
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// Returns the distance between the columns of a panel of `rows` rows: with room for two vectors behind each, and not a
/// power of 2, because such columns would compete for the same cache lines.
constexpr std::int64_t lu_panel_row(std::int64_t rows) { return (rows + 31) / 32 * 32 + 48; }

struct EliminationKernels {
  /// Kernels for small matrices; for float32 and float64, like all kernels here.
  void (*small[kDTypeCount])(const LuArgs&) = {};
  /// Factors the columns of a step and writes the panel.
  void (*panel[kDTypeCount])(const LuStepArgs&) = {};
  /// Applies a step to columns on its right: exchanges rows, computes the rows of u, and subtracts their products
  /// below.
  void (*update[kDTypeCount])(const LuStepArgs&) = {};
  /// Applies the row exchanges of the steps [first, first + count) only.
  void (*exchange[kDTypeCount])(const LuStepArgs&) = {};
};

void fill_elimination(EliminationKernels& kernels);
void fill_elimination_steps(EliminationKernels& kernels);

}  // namespace lamella::cpu
