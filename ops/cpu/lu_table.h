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

struct LuKernels {
  /// float32 and float64.
  void (*small[kDTypeCount])(const LuArgs&) = {};
};

void fill_lu(LuKernels& kernels);

}  // namespace lamella::cpu
