#pragma once

#include <cstdint>

#include "engine/core/dtype.h"

namespace lamella::cpu {

/// A copy of `outer` times `inner` elements; strides in bytes.
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

/// 1, 2, 4, 8 and 16 bytes.
inline constexpr int kItemSizeCount = 5;

struct MovementKernels {
  /// Copies elements of 2 to the power of the index bytes.
  void (*copy[kItemSizeCount])(const Copy2d&) = {};
  /// Sets elements of that size to the one at `from` (strides of `from` are not read).
  void (*fill[kItemSizeCount])(const Copy2d&) = {};
  /// Converts, [to][from]. A float that an integer cannot hold gives its nearest value, NaN gives 0.
  void (*cast[kDTypeCount][kDTypeCount])(const Copy2d&) = {};
  /// n pairs of an element of each array, of 4 and of 8 bytes: complex numbers of their parts.
  void (*interleave[2])(const char* first, const char* second, char* to, std::int64_t n) = {};
};

void fill_movement(MovementKernels& kernels);
void fill_casts(MovementKernels& kernels);

}  // namespace lamella::cpu
