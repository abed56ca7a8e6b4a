#pragma once

#include <cstdint>

namespace lamella::cpu {

/// A tile of attention scores, queries by keys, with the scale and masks of its rows.
template <class T>
struct AttentionTile {
  T* scores = nullptr;  ///< products of queries and keys, rows `stride` apart
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t stride = 0;
  T scale = 1;
  /// If `causal`, row r sees its first `seen + r` columns only; a value of at least `columns` means all.
  std::int64_t seen = 0;
  bool causal = false;
  /// Added to the scaled scores, or null.
  const T* bias = nullptr;
  /// Mask of the visible scores, or null.
  const bool* keep = nullptr;
  /// Distance between rows of bias or keep.
  std::int64_t mask_stride = 0;
};

template <class T>
struct AttentionKernels {
  /// Performs one step of an online softmax over tiles of columns: the scores become exp(score - top), top and total
  /// (the largest score and the sum of exponentials so far) are updated, and factor[r] becomes the factor by which
  /// earlier results must be multiplied. (Milakov and Gimelshein, 2018, "Online normalizer calculation for softmax".)
  void (*softmax)(const AttentionTile<T>& tile, T* top, T* total, T* factor) = nullptr;
  /// Replaces the scores by probabilities, exp(score - totals[2 * r] - totals[2 * r + 1]).
  void (*probabilities)(const AttentionTile<T>& tile, const T* totals) = nullptr;
  /// Computes p = p * (dp - delta[r]) * scale, for tiles of the same stride.
  void (*score_gradients)(T* p, const T* dp, const T* delta, T scale, std::int64_t rows, std::int64_t columns,
                          std::int64_t stride) = nullptr;
  /// Computes to[r] = to[r] * factor[r] + part[r] for contiguous rows; a null factor means 1.
  void (*accumulate)(T* to, const T* part, const T* factor, std::int64_t rows, std::int64_t columns) = nullptr;
};

struct AttentionTable {
  AttentionKernels<float> float32;
  AttentionKernels<double> float64;
};

void fill_attention(AttentionTable& table);

}  // namespace lamella::cpu
