#pragma once

#include <cstdint>

#include "ops/cpu/fused.h"
#include "ops/simd/vec.h"

// Subtraction of matrix products in registers, tile by tile.

namespace lamella::cpu {
inline namespace LM_SIMD_ISA {

/// Number of rows of a tile of two vectors: as many as leave registers for a row of b and a number of a (32 registers
/// of 64 bytes, 16 of fewer), and enough independent sums to hide the latency.
inline constexpr int kTileRows = simd::kVectorBytes == 64 ? 12 : 6;
/// Returns the next smaller number of rows of a tile, used if fewer rows remain.
constexpr int fewer_rows(int rows) { return rows > 8 ? 8 : rows > 4 ? 4 : rows / 2; }

/// A matrix with any row and column strides.
template <class T>
struct Steps {
  const T* data;
  std::int64_t row;
  std::int64_t column;

  const T* at(std::int64_t i, std::int64_t j) const { return data + i * row + j * column; }
};

template <class T, int kRows, int kVectors>
using Tile = simd::Vec<T>[kRows][kVectors];

/// Computes sums -= a @ b for kRows rows of a, of `depth` numbers each, and the rows of b, b_row apart. The order of
/// subtractions is that of the rows of b, whatever the tile.
template <int kRows, int kVectors, class T>
[[gnu::always_inline]] inline void subtract_from_tile(Steps<T> a, const T* b, std::int64_t b_row, std::int64_t depth,
                                                      Tile<T, kRows, kVectors>& sums) {
  using V = simd::Vec<T>;
  // The processor's addressing modes reach three rows from one pointer and one step.
  constexpr int kPointers = (kRows + 2) / 3;
  const T* rows[kPointers];
  for (int i = 0; i < kPointers; ++i) rows[i] = a.at(3 * i, 0);
  for (std::int64_t k = 0; k < depth; ++k) {
    V right[kVectors];
    for (int j = 0; j < kVectors; ++j) right[j] = V::load(b + j * V::size);
    for (int i = 0; i < kRows; ++i) {
      const V left(rows[i / 3][i % 3 * a.row]);
      for (int j = 0; j < kVectors; ++j) sums[i][j] = subtract_product(left, right[j], sums[i][j]);
    }
    for (int i = 0; i < kPointers; ++i) rows[i] += a.column;
    b += b_row;
  }
}

template <int kRows, int kVectors, class T>
[[gnu::always_inline]] inline void load_tile(const T* from, std::int64_t row, Tile<T, kRows, kVectors>& sums) {
  using V = simd::Vec<T>;
  for (int i = 0; i < kRows; ++i) {
    for (int j = 0; j < kVectors; ++j) sums[i][j] = V::load(from + i * row + j * V::size);
  }
}
template <int kRows, int kVectors, class T>
[[gnu::always_inline]] inline void store_tile(const Tile<T, kRows, kVectors>& sums, T* to, std::int64_t row) {
  using V = simd::Vec<T>;
  for (int i = 0; i < kRows; ++i) {
    for (int j = 0; j < kVectors; ++j) sums[i][j].store(to + i * row + j * V::size);
  }
}

/// Computes c -= a @ b for `rows` rows of kVectors vectors each.
template <int kVectors, int kRows = kTileRows, class T>
void subtract_products(Steps<T> a, const T* b, std::int64_t b_row, T* c, std::int64_t c_row, std::int64_t rows,
                       std::int64_t depth) {
  std::int64_t i = 0;
  for (; i + kRows <= rows; i += kRows) {
    Tile<T, kRows, kVectors> sums;
    load_tile<kRows, kVectors>(c + i * c_row, c_row, sums);
    subtract_from_tile<kRows, kVectors>(Steps<T>{a.at(i, 0), a.row, a.column}, b, b_row, depth, sums);
    store_tile<kRows, kVectors>(sums, c + i * c_row, c_row);
  }
  if constexpr (kRows > 1) {
    if (i == rows) return;
    subtract_products<kVectors, fewer_rows(kRows)>(Steps<T>{a.at(i, 0), a.row, a.column}, b, b_row, c + i * c_row,
                                                   c_row, rows - i, depth);
  }
}

}  // namespace LM_SIMD_ISA
}  // namespace lamella::cpu
