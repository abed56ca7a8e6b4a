#pragma once

#include <cstdint>

#include "ops/cpu/tile.h"
#include "ops/simd/vec.h"

namespace lamella::cpu {
inline namespace LM_SIMD_ISA {

/// Writes to[j, i] = from[i, j].
template <class T>
void transpose_into(const T* from, std::int64_t from_row, std::int64_t rows, std::int64_t columns, T* to,
                    std::int64_t to_row) {
  using V = simd::Vec<T>;
  std::int64_t i = 0;
  for (; i + V::size <= rows; i += V::size) {
    std::int64_t j = 0;
    for (; j + V::size <= columns; j += V::size) {
      typename V::native_type tile[V::size];
      for (int k = 0; k < V::size; ++k) tile[k] = V::load(from + (i + k) * from_row + j).native();
      transpose(tile);
      for (int k = 0; k < V::size; ++k) V(tile[k]).store(to + (j + k) * to_row + i);
    }
    for (; j < columns; ++j) {
      for (int k = 0; k < V::size; ++k) to[j * to_row + i + k] = from[(i + k) * from_row + j];
    }
  }
  for (; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) to[j * to_row + i] = from[i * from_row + j];
  }
}

}  // namespace LM_SIMD_ISA
}  // namespace lamella::cpu
