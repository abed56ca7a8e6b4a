#pragma once

#include <cstdint>

#include "engine/core/dtype.h"

namespace lamella::cpu {

/// `count` matrices of `rows` x `columns` numbers one behind the other, row after row, which become their factors; the
/// exchange of row i of each goes to pivots, counted from 1.
struct LuArgs {
  void* matrices = nullptr;
  std::int32_t* pivots = nullptr;
  std::int64_t count = 0;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};

/// The rows and columns that a kernel takes at most.
inline constexpr std::int64_t kMostLuRows = 64;

/// A step in the factorization of one large matrix, whose rows are dense and `row` elements apart: that of the columns
/// from `first` on, `count` of them, at most kMostLuRows, in the rows from `first` on.
struct LuStepArgs {
  void* matrix = nullptr;
  std::int64_t row = 0;
  std::int64_t rows = 0;
  std::int64_t first = 0;
  std::int64_t count = 0;
  std::int32_t* pivots = nullptr;  ///< of the whole matrix, counted from 1
  /// The factored columns, which lie in rows lu_panel_row() elements apart, for what goes on beside them.
  void* panel = nullptr;
  /// The columns that are exchanged, or brought up to date.
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// The step between the columns of a panel of so many rows: room for two vectors behind each, and no power of 2, in
/// which columns would take turns in the same places of the caches.
constexpr std::int64_t lu_panel_row(std::int64_t rows) { return (rows + 31) / 32 * 32 + 48; }

struct EliminationKernels {
  /// float32 and float64; so are all.
  void (*small[kDTypeCount])(const LuArgs&) = {};
  /// Factors the columns of a step and writes the panel.
  void (*panel[kDTypeCount])(const LuStepArgs&) = {};
  /// What a step does to columns on the right: exchanges of rows, the rows of u, and what these subtract below.
  void (*update[kDTypeCount])(const LuStepArgs&) = {};
  /// The exchanges of rows alone, of the steps [first, first + count).
  void (*exchange[kDTypeCount])(const LuStepArgs&) = {};
};

void fill_elimination(EliminationKernels& kernels);
void fill_elimination_steps(EliminationKernels& kernels);

}  // namespace lamella::cpu
