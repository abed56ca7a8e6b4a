#pragma once

#include <cstdint>

#include "engine/core/dtype.h"

namespace lamella::cpu {

/// A copy of `outer` x `inner` elements; strides in bytes.
struct Copy2d {
  char* to = nullptr;
  const char* from = nullptr;
  std::int64_t outer = 1;
  std::int64_t inner = 1;
  std::int64_t to_outer = 0;
  std::int64_t to_inner = 0;
  std::int64_t from_outer = 0;
  std::int64_t from_inner = 0;
};

/// Number of item sizes: 1, 2, 4, 8 and 16 bytes.
inline constexpr int kItemSizeCount = 5;

struct MovementKernels {
  /// Copies elements; indexed by the base-2 logarithm of their size.
  void (*copy[kItemSizeCount])(const Copy2d&) = {};
  /// Sets elements to the one at `from`, whose strides are ignored; indexed like `copy`.
  void (*fill[kItemSizeCount])(const Copy2d&) = {};
  /// Converts elements; indexed by [to][from]. A float out of an integer's range gives the nearest value, NaN gives 0.
  void (*cast[kDTypeCount][kDTypeCount])(const Copy2d&) = {};
  /// Interleaves n elements of each of two arrays, of 4 or of 8 bytes: builds complex numbers from their parts.
  void (*interleave[2])(const char* first, const char* second, char* to, std::int64_t n) = {};
};

void fill_movement(MovementKernels& kernels);
void fill_casts(MovementKernels& kernels);

}  // namespace lamella::cpu
