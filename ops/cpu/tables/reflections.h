#pragma once

#include <cstdint>

#include "engine/core/dtype.h"

namespace lamella::cpu {

/// Number of reflections that are applied at once.
inline constexpr std::int64_t kReflections = 48;

/// Arguments for preparing blocks of `count` reflections of m numbers, as geqrf leaves them in the columns of x, whose
/// elements are x_row and x_column apart. Each block's vectors, with their ones and zeros, are written to m x
/// kReflections numbers of `vectors`, and its system to kReflections^2 numbers of `systems`.
struct ReflectionBlocksArgs {
  const void* x = nullptr;
  std::int64_t x_row = 0;
  std::int64_t x_column = 0;
  const void* factors = nullptr;
  std::int64_t m = 0;
  std::int64_t count = 0;
  void* vectors = nullptr;
  void* systems = nullptr;
};

/// Arguments for multiplying columns of c by q, a product of reflections, or by its transpose. The elements of c, of m
/// rows, are c_row and c_column apart; one of these is 1.
struct ReflectArgs {
  const void* vectors = nullptr;
  const void* systems = nullptr;
  const void* factors = nullptr;
  std::int64_t m = 0;
  std::int64_t count = 0;
  void* c = nullptr;
  std::int64_t c_row = 0;
  std::int64_t c_column = 1;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  bool transposed = false;
  bool unit = false;  ///< c is overwritten by columns of q: its input is the unit matrix, which is not read
};

struct ReflectionKernels {
  /// Kernels for float32 and float64.
  void (*blocks[kDTypeCount])(const ReflectionBlocksArgs&) = {};
  void (*reflect[kDTypeCount])(const ReflectArgs&) = {};
};

void fill_reflections(ReflectionKernels& kernels);

}  // namespace lamella::cpu
