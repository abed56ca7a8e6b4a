#pragma once

#include "ops/nn/cuda/attention_tile.h"

namespace lamella::cuda {

/// The division of a kernel's work: each of kWarps warps has 16 kStrips rows of queries, and runs over kKeys keys at a
/// time.
template <class Element, int kWidthGiven, int kKeysGiven, int kWarpsGiven, int kStripsGiven, bool kHoldGiven>
struct AttentionTiling {
  using S = Element;
  static constexpr int kWidth = kWidthGiven;
  static constexpr int kKeys = kKeysGiven;
  static constexpr int kStrips = kStripsGiven;
  static constexpr bool kHold = kHoldGiven;
  static constexpr int kThreads = 32 * kWarpsGiven;
  static constexpr int kQueries = 16 * kStrips * kWarpsGiven;
  static constexpr std::size_t kShared = sizeof(S) * kWidth * (kQueries + 4 * kKeys);
};

/// Computes softmax(scale q k^T + mask) v by blocks of queries, into the contiguous `out`, and for each query what
/// AttentionTotals says.
template <class Tiling>
__global__ void __launch_bounds__(Tiling::kThreads)
    attention_forward_kernel(const AttentionProblem p, typename Tiling::S* out, float* totals) {
  using S = typename Tiling::S;
  constexpr int kWidth = Tiling::kWidth;
  constexpr int kKeys = Tiling::kKeys;
  constexpr int kStrips = Tiling::kStrips;
  constexpr int kQueries = Tiling::kQueries;
  constexpr int kThreads = Tiling::kThreads;
  using Tile = SharedTile<S, kWidth>;
  S* const queries = static_cast<S*>(dynamic_shared());
  S* const tiles = queries + kQueries * kWidth;

  const int blocks = (p.queries + kQueries - 1) / kQueries;
  // The longest rows of a causal problem come first.
  const int first = (blocks - 1 - static_cast<int>(blockIdx.x) % blocks) * kQueries;
  const AttentionMatrix matrix(p, static_cast<std::int64_t>(blockIdx.x) / blocks);
  const S* const key = matrix.of<S>(p.key);
  const S* const value = matrix.of<S>(p.value);
  const int end = p.causal ? min(p.keys, first + kQueries) : p.keys;

  // While a tile is worked on, the next one is on its way into the other half of the memory.
  const auto load_keys = [&](int k) {
    S* const to = tiles + k / kKeys % 2 * (2 * kKeys * kWidth);
    Tile::template load<kKeys, kThreads>(to, key, p.key, k, p.keys, p.width);
    Tile::template load<kKeys, kThreads>(to + kKeys * kWidth, value, p.value, k, p.keys, p.value_width);
    close_copies();
  };
  Tile::template load<kQueries, kThreads>(queries, matrix.of<S>(p.query), p.query, first, p.queries, p.width);
  load_keys(0);

  const int strip = static_cast<int>(threadIdx.x) / 32 * (16 * kStrips);
  const float factor = exponent_factor(p);
  LeftRows<S, kWidth, kStrips, Tiling::kHold> query(queries, strip);
  Strips<kStrips, kWidth / 8> sums = {};
  float top[kStrips][2];
  float total[kStrips][2];
  for (int s = 0; s < kStrips; ++s) {
    for (int half = 0; half < 2; ++half) {
      top[s][half] = kLowestScore;
      total[s][half] = 0;
    }
  }

  for (int k = 0; k < end; k += kKeys) {
    wait_for_copies<0>();
    __syncthreads();  // the tile is there, and nobody reads the one before any more
    if (k + kKeys < end) load_keys(k + kKeys);
    const S* const keys = tiles + k / kKeys % 2 * (2 * kKeys * kWidth);
    if (k == 0) query.hold();
    Strips<kStrips, kKeys / 8> scores;
    query.multiply(scores, keys);
    const TilePlace<false> place{first + strip, k};
    place_scores<S>(scores, p, matrix, place);
#pragma unroll
    for (int s = 0; s < kStrips; ++s) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float largest = top[s][half];
#pragma unroll
        for (int n = 0; n < kKeys / 8; ++n)
          largest = fmaxf(largest, fmaxf(scores[s][n][2 * half], scores[s][n][2 * half + 1]));
        largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, 1));
        largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, 2));
        const float shift = largest == kLowestScore ? 0 : largest;
        const float shrink = quick_exp2((top[s][half] - shift) * factor);
        top[s][half] = largest;
        float sum = total[s][half] * shrink;
#pragma unroll
        for (int n = 0; n < kKeys / 8; ++n) {
#pragma unroll
          for (int i = 2 * half; i < 2 * half + 2; ++i) {
            scores[s][n][i] = quick_exp2((scores[s][n][i] - shift) * factor);
            sum += scores[s][n][i];
          }
        }
        total[s][half] = sum;
#pragma unroll
        for (int n = 0; n < kWidth / 8; ++n) {
          sums[s][n][2 * half] *= shrink;
          sums[s][n][2 * half + 1] *= shrink;
        }
      }
    }
    if (p.dropout.threshold > 0) {
#pragma unroll
      for (int s = 0; s < kStrips; ++s)
        drop_elements(scores[s], kept_elements<false, kKeys / 8>(p, matrix.number, place, s), 1);
    }
    add_weighted<S, kWidth>(sums, scores, keys + kKeys * kWidth);
  }

#pragma unroll
  for (int s = 0; s < kStrips; ++s) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float sum = total[s][half];
      sum += __shfl_xor_sync(~0u, sum, 1);
      sum += __shfl_xor_sync(~0u, sum, 2);
      const int row = first + strip + 16 * s + lane_of_warp() / 4 + half * 8;
      if (row >= p.queries) continue;
      const std::int64_t at = matrix.number * p.queries + row;
      if (lane_of_warp() % 4 == 0) {
        // Infinite if no key is visible, so that every recomputed probability is 0.
        totals[2 * at] = sum != 0 ? top[s][half] : std::numeric_limits<float>::infinity();
        totals[2 * at + 1] = sum != 0 ? std::log2(sum) : 0;
      }
      const float scale = sum != 0 ? p.dropout.factor / sum : 0;
      store_row<S, kWidth>(sums[s], half, scale, out + at * p.value_width, p.value_width);
    }
  }
}

}  // namespace lamella::cuda
