#pragma once

#include "ops/nn/cuda/attention_forward.h"

namespace lamella::cuda {

/// What the gradients are computed from, beside the operands: contiguous numbers for each query.
struct AttentionTotals {
  const float* logsumexp;
  const float* delta;  // the sums of products of the result and its gradient
};

/// How a kernel of gradients divides its work. Rows are keys if kByKeys, otherwise queries; each of kWarps warps has
/// 16 kStrips of them, and runs over kColumns of the others at a time.
template <class Element, bool kByKeysGiven, int kWidthGiven, int kColumnsGiven, int kWarpsGiven, int kStripsGiven,
          bool kHoldGiven, int kBlocksGiven = 1>
struct AttentionGradientTiling {
  using S = Element;
  static constexpr bool kByKeys = kByKeysGiven;
  static constexpr int kWidth = kWidthGiven;
  static constexpr int kColumns = kColumnsGiven;
  static constexpr int kWarps = kWarpsGiven;
  static constexpr int kStrips = kStripsGiven;
  static constexpr bool kHold = kHoldGiven;
  static constexpr int kBlocks = kBlocksGiven;
  static constexpr int kThreads = 32 * kWarps;
  static constexpr int kRows = 16 * kStrips * kWarps;
  static constexpr std::size_t kShared = sizeof(S) * kWidth * (2 * kRows + 4 * kColumns) + sizeof(float) * 4 * kColumns;
};

/// Writes pairs of an accumulated matrix, scaled, into rows of a contiguous matrix.
template <class S, int kWidth>
__device__ void store_rows(const float (&sums)[kWidth / 8][4], int half, float scale, S* to, int width) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int n = 0; n < kWidth / 8; ++n) {
    const int column = 8 * n + lane % 4 * 2;
    const Pair pair = pack_pair<S>(sums[n][2 * half] * scale, sums[n][2 * half + 1] * scale);
    if (width % 2 == 0) {
      if (column < width) *reinterpret_cast<Pair*>(to + column) = pair;
    } else {
      if (column < width) to[column].bits = static_cast<std::uint16_t>(pair & 0xffffu);
      if (column + 1 < width) to[column + 1].bits = static_cast<std::uint16_t>(pair >> 16);
    }
  }
}

/// Computes the gradients of keys and values by blocks of keys, or those of queries by blocks of queries: into `first`
/// that of the rows' operand, into `second` that of values. The scores are computed again, a tile at a time, so that
/// rows of a tile of probabilities are the same lane's as those of the operand by which it is multiplied.
template <class Tiling>
__global__ void __launch_bounds__(Tiling::kThreads, Tiling::kBlocks)
    attention_backward_kernel(AttentionProblem p, AttentionRows dout, AttentionTotals totals,
                              typename Tiling::S* first_gradient, typename Tiling::S* second_gradient) {
  using S = typename Tiling::S;
  constexpr bool kByKeys = Tiling::kByKeys;
  constexpr int kWidth = Tiling::kWidth;
  constexpr int kColumns = Tiling::kColumns;
  constexpr int kStrips = Tiling::kStrips;
  constexpr int kRows = Tiling::kRows;
  constexpr int kThreads = Tiling::kThreads;
  constexpr int kSteps = kWidth / 16;
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
  const std::int64_t matrix = static_cast<std::int64_t>(blockIdx.x) / blocks;
  const std::int64_t batch = matrix / p.heads;
  const std::int64_t head = matrix % p.heads;
  const S* const query = p.query.matrix<S>(batch, head);
  const S* const key = p.key.matrix<S>(batch, head);
  const S* const value = p.value.matrix<S>(batch, head);
  const S* const gradient = dout.matrix<S>(batch, head);
  const float* const logsumexp = totals.logsumexp + matrix * p.queries;
  const float* const delta = totals.delta + matrix * p.queries;
  const int begin = kByKeys && p.causal ? first / kColumns * kColumns : 0;
  const int end = !kByKeys && p.causal ? min(columns, first + kRows) : columns;

  const auto load_columns = [&](int c) {
    const int stage = c / kColumns % 2;
    S* const to = tiles + stage * (2 * kColumns * kWidth);
    if constexpr (kByKeys) {
      Tile::template load<kColumns, kThreads>(to, query, p.query, c, columns, p.width);
      Tile::template load<kColumns, kThreads>(to + kColumns * kWidth, gradient, dout, c, columns, p.value_width);
      const int i = static_cast<int>(threadIdx.x);
      if (i < kColumns) {
        float* const target = numbers + stage * (2 * kColumns) + i;
        target[0] = c + i < columns ? logsumexp[c + i] * kLog2E : std::numeric_limits<float>::infinity();
        target[kColumns] = c + i < columns ? delta[c + i] : 0;
      }
    } else {
      Tile::template load<kColumns, kThreads>(to, key, p.key, c, columns, p.width);
      Tile::template load<kColumns, kThreads>(to + kColumns * kWidth, value, p.value, c, columns, p.value_width);
    }
    close_copies();
  };
  if constexpr (kByKeys) {
    Tile::template load<kRows, kThreads>(left, key, p.key, first, rows, p.width);
    Tile::template load<kRows, kThreads>(right, value, p.value, first, rows, p.value_width);
  } else {
    Tile::template load<kRows, kThreads>(left, query, p.query, first, rows, p.width);
    Tile::template load<kRows, kThreads>(right, gradient, dout, first, rows, p.value_width);
  }
  if (begin < end) load_columns(begin);

  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int part = lane / 8;
  const int strip = static_cast<int>(threadIdx.x) / 32 * (16 * kStrips);
  const Pair flip = p.scale < 0 ? 0x80008000u : 0;
  const float factor = std::abs(p.scale) * kLog2E;
  const auto load_left = [&](Pair(&to)[4], const S* from, int s, int step) {
    load_matrices(to, from + Tile::place(strip + 16 * s + part % 2 * 8 + lane % 8, 2 * step + part / 2));
  };

  constexpr int kHeld = Tiling::kHold ? kSteps : 1;
  Pair held[2][kStrips][kHeld][4];
  float sums[kStrips][kWidth / 8][4] = {};
  float value_sums[kByKeys ? kStrips : 1][kWidth / 8][4] = {};
  float row_total[kStrips][2];
  float row_delta[kStrips][2];
  if constexpr (!kByKeys) {
    for (int s = 0; s < kStrips; ++s) {
      for (int half = 0; half < 2; ++half) {
        const int row = first + strip + 16 * s + lane / 4 + half * 8;
        row_total[s][half] = row < rows ? logsumexp[row] * kLog2E : std::numeric_limits<float>::infinity();
        row_delta[s][half] = row < rows ? delta[row] : 0;
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
    if constexpr (Tiling::kHold) {
      if (c == begin) {
#pragma unroll
        for (int s = 0; s < kStrips; ++s) {
#pragma unroll
          for (int step = 0; step < kSteps; ++step) {
            load_left(held[0][s][step], left, s, step);
            load_left(held[1][s][step], right, s, step);
            for (Pair& pair : held[0][s][step]) pair ^= flip;
          }
        }
      }
    }
    float scores[kStrips][kColumns / 8][4] = {};
    float slopes[kStrips][kColumns / 8][4] = {};
#pragma unroll
    for (int side = 0; side < 2; ++side) {
#pragma unroll
      for (int step = 0; step < kSteps; ++step) {
        if constexpr (!Tiling::kHold) {
#pragma unroll
          for (int s = 0; s < kStrips; ++s) {
            load_left(held[0][s][0], side == 0 ? left : right, s, step);
            if (side == 0) {
              for (Pair& pair : held[0][s][0]) pair ^= flip;
            }
          }
        }
#pragma unroll
        for (int n = 0; n < kColumns / 16; ++n) {
          Pair b[4];
          load_matrices(
              b, (side == 0 ? above : beside) + Tile::place(16 * n + part / 2 * 8 + lane % 8, 2 * step + part % 2));
#pragma unroll
          for (int s = 0; s < kStrips; ++s) {
            const auto& a = Tiling::kHold ? held[side][s][step % kHeld] : held[0][s][0];
            auto& to = side == 0 ? scores[s] : slopes[s];
            multiply_add<S>(to[2 * n], a, b[0], b[1]);
            multiply_add<S>(to[2 * n + 1], a, b[2], b[3]);
          }
        }
      }
    }
    const bool edge =
        p.causal ? (kByKeys ? c < first + strip + 16 * kStrips : c + kColumns - 1 > first + strip) : false;
    const bool tail = !kByKeys && c + kColumns > columns;
    const float* const column_total = numbers + stage * (2 * kColumns) + lane % 4 * 2;
#pragma unroll
    for (int s = 0; s < kStrips; ++s) {
#pragma unroll
      for (int n = 0; n < kColumns / 8; ++n) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const float total = kByKeys ? column_total[8 * n + i % 2] : row_total[s][i / 2];
          const float shift = kByKeys ? column_total[kColumns + 8 * n + i % 2] : row_delta[s][i / 2];
          float chance = quick_exp2(fmaf(scores[s][n][i], factor, -total));
          if (edge || tail) {
            const int column = c + 8 * n + lane % 4 * 2 + i % 2;
            const int row = first + strip + 16 * s + lane / 4 + i / 2 * 8;
            if ((tail && column >= columns) || (edge && (kByKeys ? column < row : column > row))) chance = 0;
          }
          scores[s][n][i] = chance;
          slopes[s][n][i] = chance * (slopes[s][n][i] - shift);
        }
      }
    }
#pragma unroll
    for (int side = kByKeys ? 0 : 1; side < 2; ++side) {
#pragma unroll
      for (int step = 0; step < kColumns / 16; ++step) {
        Pair a[kStrips][4];
#pragma unroll
        for (int s = 0; s < kStrips; ++s) {
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            const float* const from = &(side == 0 ? scores : slopes)[s][2 * step + i / 2][i % 2 * 2];
            a[s][i] = pack_pair<S>(from[0], from[1]);
          }
        }
#pragma unroll
        for (int n = 0; n < kWidth / 16; ++n) {
          Pair b[4];
          load_matrices_transposed(
              b, (side == 0 ? beside : above) + Tile::place(16 * step + part % 2 * 8 + lane % 8, 2 * n + part / 2));
#pragma unroll
          for (int s = 0; s < kStrips; ++s) {
            auto& to = side == 0 ? value_sums[kByKeys ? s : 0] : sums[s];
            multiply_add<S>(to[2 * n], a[s], b[0], b[1]);
            multiply_add<S>(to[2 * n + 1], a[s], b[2], b[3]);
          }
        }
      }
    }
  }

#pragma unroll
  for (int s = 0; s < kStrips; ++s) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = first + strip + 16 * s + lane / 4 + half * 8;
      if (row >= rows) continue;
      const std::int64_t at = matrix * rows + row;
      store_rows<S, kWidth>(sums[s], half, p.scale, first_gradient + at * p.width, p.width);
      if constexpr (kByKeys)
        store_rows<S, kWidth>(value_sums[s], half, 1, second_gradient + at * p.value_width, p.value_width);
    }
  }
}

}  // namespace lamella::cuda
