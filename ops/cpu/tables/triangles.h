#pragma once

#include <cstdint>

#include "engine/core/dtype.h"

namespace lamella::cpu {

/// A triangular system of n equations for `columns` right-hand sides: b, whose rows are contiguous and b_row apart, is
/// overwritten by a^-1 b. The elements of a are a_row and a_column apart. Steps are in elements.
struct TriangleArgs {
  const void* a = nullptr;
  std::int64_t a_row = 0;
  std::int64_t a_column = 0;
  void* b = nullptr;
  std::int64_t b_row = 0;
  std::int64_t n = 0;
  std::int64_t columns = 0;
  bool upper = false;
  bool unit_diagonal = false;
};

struct TriangleKernels {
  /// Solves for all columns; for float32 and float64.
  void (*solve[kDTypeCount])(const TriangleArgs&) = {};
  /// Solves for one column, with another order of operations.
  void (*solve_one[kDTypeCount])(const TriangleArgs&) = {};
  /// Number of columns that the kernel processes together; threads should share multiples of it.
  int columns[kDTypeCount] = {};
};

void fill_triangle(TriangleKernels& kernels);

}  // namespace lamella::cpu
