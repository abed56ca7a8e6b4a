#pragma once

#include <cstdint>

namespace lamella::cpu {

/// A tile of attention scores, queries by keys, and what is known of its rows.
template <class T>
struct AttentionTile {
  T* scores = nullptr;  ///< products of queries and keys, rows `stride` apart
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t stride = 0;
  T scale = 1;
  /// Row r sees its first `seen + r` columns only (causal); at least `columns` where it sees all.
  std::int64_t seen = 0;
  bool causal = false;
  /// Added to the scaled scores, or null.
  const T* bias = nullptr;
  /// Scores that count, or null.
  const bool* keep = nullptr;
  /// From one row of bias or keep to the next.
  std::int64_t mask_stride = 0;
};

template <class T>
struct AttentionKernels {
  /// One step of a softmax that sees the columns tile by tile: the scores become exp(score - top), with top and total
  /// (the largest score so far, and the sum of exponentials below it) brought up to date, and factor[r] is what
  /// earlier results are to be multiplied by. (Milakov and Gimelshein, 2018, "Online normalizer calculation for
  /// softmax".)
  void (*softmax)(const AttentionTile<T>& tile, T* top, T* total, T* factor) = nullptr;
  /// The scores become probabilities, exp(score - log_total[r]).
  void (*probabilities)(const AttentionTile<T>& tile, const T* log_total) = nullptr;
  /// p = p * (dp - delta[r]) * scale, for tiles of one stride.
  void (*score_gradients)(T* p, const T* dp, const T* delta, T scale, std::int64_t rows, std::int64_t columns,
                          std::int64_t stride) = nullptr;
  /// to[r] = to[r] * factor[r] + part[r]; factor may be null for 1. Rows lie one after the other.
  void (*accumulate)(T* to, const T* part, const T* factor, std::int64_t rows, std::int64_t columns) = nullptr;
};

struct AttentionTable {
  AttentionKernels<float> float32;
  AttentionKernels<double> float64;
};

void fill_attention(AttentionTable& table);

}  // namespace lamella::cpu
