#pragma once

#include "ops/nn/cuda/attention_tile.h"

namespace lamella::cuda {

/// Numbers for each query, contiguous, from which gradients are computed beside the operands.
struct AttentionTotals {
  /// The largest score, and the logarithm to base 2 of the sum of exponentials of the scores less that one. Scores lack
  /// the scale as those of place_scores() do.
  const float* totals;
  /// The sum of products of the result and its gradient.
  const float* delta;
};

/// Whose gradients a kernel computes. Of keys and values, the one that is not wanted costs nothing.
enum class AttentionGradient : std::uint8_t { Query, Key, Value, KeyAndValue };

/// The division of the work of a kernel of gradients. Rows are queries for the gradient of queries and keys for the
/// others; each of kWarps warps has 16 kStrips of them, and runs over kColumns of the others at a time.
template <class Element, AttentionGradient kGradientGiven, int kWidthGiven, int kColumnsGiven, int kWarpsGiven,
          int kStripsGiven, bool kHoldGiven>
struct AttentionGradientTiling {
  using S = Element;
  static constexpr AttentionGradient kGradient = kGradientGiven;
  static constexpr bool kByKeys = kGradient != AttentionGradient::Query;
  static constexpr bool kOfValue = kGradient == AttentionGradient::Value || kGradient == AttentionGradient::KeyAndValue;
  static constexpr bool kOfScores = kGradient != AttentionGradient::Value;
  static constexpr int kWidth = kWidthGiven;
  static constexpr int kColumns = kColumnsGiven;
  static constexpr int kStrips = kStripsGiven;
  static constexpr bool kHold = kHoldGiven;
  static constexpr int kThreads = 32 * kWarpsGiven;
  static constexpr int kRows = 16 * kStrips * kWarpsGiven;
  static constexpr std::size_t kShared = sizeof(S) * kWidth * (2 * kRows + 4 * kColumns) + sizeof(float) * 6 * kColumns;
};

/// Computes gradients by blocks of rows: into `gradient` that of queries or keys, into `value_gradient` that of values.
/// Tiles of probabilities are computed again, such that their rows are those of the gradient.
template <class Tiling>
__global__ void __launch_bounds__(Tiling::kThreads)
    attention_backward_kernel(const AttentionProblem p, const AttentionRows dout, const AttentionTotals totals,
                              typename Tiling::S* gradient, typename Tiling::S* value_gradient) {
  using S = typename Tiling::S;
  constexpr bool kByKeys = Tiling::kByKeys;
  constexpr int kWidth = Tiling::kWidth;
  constexpr int kColumns = Tiling::kColumns;
  constexpr int kStrips = Tiling::kStrips;
  constexpr int kRows = Tiling::kRows;
  constexpr int kThreads = Tiling::kThreads;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  using Tile = SharedTile<S, kWidth>;
  S* const left = static_cast<S*>(dynamic_shared());
  S* const right = left + kRows * kWidth;
  S* const tiles = right + kRows * kWidth;
  float* const numbers = reinterpret_cast<float*>(tiles + 4 * kColumns * kWidth);

  const int rows = kByKeys ? p.keys : p.queries;
  const int columns = kByKeys ? p.queries : p.keys;
  const int blocks = (rows + kRows - 1) / kRows;
  const int block = static_cast<int>(blockIdx.x) % blocks;
  // The longest rows of a causal problem come first.
  const int first = (kByKeys ? block : blocks - 1 - block) * kRows;
  const AttentionMatrix matrix(p, static_cast<std::int64_t>(blockIdx.x) / blocks);
  const S* const query = matrix.of<S>(p.query);
  const S* const key = matrix.of<S>(p.key);
  const S* const value = matrix.of<S>(p.value);
  const S* const slope = matrix.of<S>(dout);
  const float* const query_totals = totals.totals + 2 * matrix.number * p.queries;
  const float* const query_delta = totals.delta + matrix.number * p.queries;
  const int begin = kByKeys && p.causal ? first / kColumns * kColumns : 0;
  const int end = !kByKeys && p.causal ? min(columns, first + kRows) : columns;

  const auto load_columns = [&](int c) {
    const int stage = c / kColumns % 2;
    S* const to = tiles + stage * (2 * kColumns * kWidth);
    S* const beside = to + kColumns * kWidth;
    if constexpr (kByKeys) {
      Tile::template load<kColumns, kThreads>(to, query, p.query, c, columns, p.width);
      Tile::template load<kColumns, kThreads>(beside, slope, dout, c, columns, p.value_width);
      for (int i = static_cast<int>(threadIdx.x); i < kColumns; i += kThreads) {
        float* const target = numbers + stage * (3 * kColumns) + i;
        const bool inside = c + i < columns;
        target[0] = inside ? query_totals[2 * (c + i)] : kInfinity;
        target[kColumns] = inside ? query_totals[2 * (c + i) + 1] : 0;
        target[2 * kColumns] = inside ? query_delta[c + i] : 0;
      }
    } else {
      Tile::template load<kColumns, kThreads>(to, key, p.key, c, columns, p.width);
      Tile::template load<kColumns, kThreads>(beside, value, p.value, c, columns, p.value_width);
    }
    close_copies();
  };
  if constexpr (kByKeys) {
    Tile::template load<kRows, kThreads>(left, key, p.key, first, rows, p.width);
    Tile::template load<kRows, kThreads>(right, value, p.value, first, rows, p.value_width);
  } else {
    Tile::template load<kRows, kThreads>(left, query, p.query, first, rows, p.width);
    Tile::template load<kRows, kThreads>(right, slope, dout, first, rows, p.value_width);
  }
  if (begin < end) load_columns(begin);

  const int strip = static_cast<int>(threadIdx.x) / 32 * (16 * kStrips);
  const float factor = exponent_factor(p);
  LeftRows<S, kWidth, kStrips, Tiling::kHold> left_rows(left, strip);
  LeftRows<S, kWidth, kStrips, Tiling::kHold> right_rows(right, strip);
  Strips<kStrips, kWidth / 8> sums = {};
  Strips<kStrips, kWidth / 8> value_sums = {};
  float row_numbers[kStrips][2][3];
  if constexpr (!kByKeys) {
#pragma unroll
    for (int s = 0; s < kStrips; ++s) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int row = first + strip + 16 * s + lane_of_warp() / 4 + half * 8;
        row_numbers[s][half][0] = row < rows ? query_totals[2 * row] : kInfinity;
        row_numbers[s][half][1] = row < rows ? query_totals[2 * row + 1] : 0;
        row_numbers[s][half][2] = row < rows ? query_delta[row] : 0;
      }
    }
  }

  for (int c = begin; c < end; c += kColumns) {
    wait_for_copies<0>();
    __syncthreads();  // the tile is there, and nobody reads the one before any more
    if (c + kColumns < end) load_columns(c + kColumns);
    const int stage = c / kColumns % 2;
    const S* const above = tiles + stage * (2 * kColumns * kWidth);
    const S* const beside = above + kColumns * kWidth;
    if (c == begin) {
      left_rows.hold();
      right_rows.hold();
    }
    Strips<kStrips, kColumns / 8> scores;
    left_rows.multiply(scores, above);
    const TilePlace<kByKeys> place{first + strip, c};
    place_scores<S>(scores, p, matrix, place);
    Strips<kStrips, kColumns / 8> slopes;
    if constexpr (Tiling::kOfScores) {
      right_rows.multiply(slopes, beside);
    }
    std::uint32_t kept[kStrips];
    if (p.dropout.threshold > 0) {
#pragma unroll
      for (int s = 0; s < kStrips; ++s) {
        kept[s] = kept_elements<kByKeys, kColumns / 8>(p, matrix.number, place, s);
        if constexpr (Tiling::kOfScores) drop_elements(slopes[s], kept[s], p.dropout.factor);
      }
    }
    const float* const column_numbers = numbers + stage * (3 * kColumns) + lane_of_warp() % 4 * 2;
#pragma unroll
    for (int s = 0; s < kStrips; ++s) {
#pragma unroll
      for (int n = 0; n < kColumns / 8; ++n) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const auto number = [&](int which) {
            return kByKeys ? column_numbers[which * kColumns + 8 * n + i % 2] : row_numbers[s][i / 2][which];
          };
          const float chance = quick_exp2(fused(scores[s][n][i] - number(0), factor, -number(1)));
          scores[s][n][i] = chance;
          if constexpr (Tiling::kOfScores) slopes[s][n][i] = chance * (slopes[s][n][i] - number(2));
        }
      }
    }
    if constexpr (Tiling::kOfValue) {
      if (p.dropout.threshold > 0) {
#pragma unroll
        for (int s = 0; s < kStrips; ++s) drop_elements(scores[s], kept[s], 1);
      }
      add_weighted<S, kWidth>(value_sums, scores, beside);
    }
    if constexpr (Tiling::kOfScores) add_weighted<S, kWidth>(sums, slopes, above);
  }

#pragma unroll
  for (int s = 0; s < kStrips; ++s) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = first + strip + 16 * s + lane_of_warp() / 4 + half * 8;
      if (row >= rows) continue;
      const std::int64_t at = matrix.number * rows + row;
      if constexpr (Tiling::kOfScores) store_row<S, kWidth>(sums[s], half, p.scale, gradient + at * p.width, p.width);
      if constexpr (Tiling::kOfValue) {
        store_row<S, kWidth>(value_sums[s], half, p.dropout.factor, value_gradient + at * p.value_width, p.value_width);
      }
    }
  }
}

}  // namespace lamella::cuda
