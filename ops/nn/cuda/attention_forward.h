#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "ops/cuda/mma.h"

namespace lamella::cuda {

/// Where the rows of a batch of matrices of heads lie, in elements; a row is contiguous.
struct AttentionRows {
  const void* data = nullptr;
  std::int64_t batch = 0;
  std::int64_t head = 0;
  std::int64_t row = 0;
  /// True if every row can be read by 16 bytes.
  bool aligned = false;

  template <class S>
  __device__ const S* matrix(std::int64_t b, std::int64_t h) const {
    return static_cast<const S*>(data) + b * batch + h * head;
  }
};

struct AttentionProblem {
  AttentionRows query, key, value;
  std::int32_t heads = 0;
  std::int32_t queries = 0;
  std::int32_t keys = 0;
  std::int32_t width = 0;
  std::int32_t value_width = 0;
  bool causal = false;
  float scale = 1;
};

inline constexpr float kLog2E = 1.4426950408889634F;
inline constexpr float kLn2 = 0.6931471805599453F;

/// A tile of rows of kWidth elements in shared memory. Its chunks of 16 bytes are at places by which neither eight rows
/// of one column of chunks nor a row share a bank.
template <class S, int kWidth>
struct SharedTile {
  static constexpr int kChunks = kWidth / 8;

  __device__ static int place(int row, int chunk) {
    const int turn = kChunks % 8 == 0 ? row & 7 : (row >> 1) & 3;
    return (row * kChunks + (chunk ^ turn)) * 8;
  }

  /// Starts to copy rows from `first`; what is beyond `rows` or `width` becomes 0.
  template <int kRows, int kThreads>
  __device__ static void load(S* to, const S* matrix, const AttentionRows& layout, int first, int rows, int width) {
    // Threads side by side for each row, a power of two: each one's place repeats after a multiple of eight rows.
    constexpr int kAcross = static_cast<int>(std::bit_ceil(static_cast<unsigned>(kChunks)));
    constexpr int kStep = kThreads / kAcross;
    static_assert(kStep % 8 == 0 && kRows % kStep == 0);
    const int row = static_cast<int>(threadIdx.x) / kAcross;
    const int chunk = static_cast<int>(threadIdx.x) % kAcross;
    if (kAcross != kChunks && chunk >= kChunks) return;
    const int left = chunk * 8 < width ? rows - first - row : 0;
    const S* from = matrix + (first + row) * layout.row + chunk * 8;
    S* const target = to + place(row, chunk);
    if (layout.aligned) {
#pragma unroll
      for (int r = 0; r < kRows; r += kStep) {
        start_copy(target + r * kWidth, r < left ? from : matrix, r < left);
        from += kStep * layout.row;
      }
    } else {
#pragma unroll 1
      for (int r = 0; r < kRows; r += kStep) {
        for (int e = 0; e < 8; ++e) target[r * kWidth + e] = r < left && chunk * 8 + e < width ? from[e] : S{};
        from += kStep * layout.row;
      }
    }
  }
};

/// How a kernel divides its work: each of kWarps warps has 16 kStrips rows of queries, and runs over kKeys keys at a
/// time.
template <class Element, int kWidthGiven, int kKeysGiven, int kWarpsGiven, int kStripsGiven, bool kHoldQueryGiven,
          int kBlocksGiven = 1>
struct AttentionTiling {
  using S = Element;
  static constexpr int kWidth = kWidthGiven;
  static constexpr int kKeys = kKeysGiven;
  static constexpr int kWarps = kWarpsGiven;
  static constexpr int kStrips = kStripsGiven;
  static constexpr bool kHoldQuery = kHoldQueryGiven;
  static constexpr int kBlocks = kBlocksGiven;
  static constexpr int kThreads = 32 * kWarps;
  static constexpr int kQueries = 16 * kStrips * kWarps;
  static constexpr std::size_t kShared = sizeof(S) * kWidth * (kQueries + 4 * kKeys);
};

/// Computes softmax(scale q k^T) v and the logarithms of the sums of exponentials, by blocks of queries.
template <class Tiling>
__global__ void __launch_bounds__(Tiling::kThreads, Tiling::kBlocks)
    attention_forward_kernel(AttentionProblem p, typename Tiling::S* out, float* logsumexp) {
  using S = typename Tiling::S;
  constexpr int kWidth = Tiling::kWidth;
  constexpr int kKeys = Tiling::kKeys;
  constexpr int kStrips = Tiling::kStrips;
  constexpr int kQueries = Tiling::kQueries;
  constexpr int kThreads = Tiling::kThreads;
  constexpr float kLowest = -std::numeric_limits<float>::infinity();
  using Tile = SharedTile<S, kWidth>;
  S* const queries = static_cast<S*>(dynamic_shared());
  S* const tiles = queries + kQueries * kWidth;

  const int blocks = (p.queries + kQueries - 1) / kQueries;
  // The longest rows of a causal problem come first.
  const int first = (blocks - 1 - static_cast<int>(blockIdx.x) % blocks) * kQueries;
  const std::int64_t matrix = static_cast<std::int64_t>(blockIdx.x) / blocks;
  const std::int64_t batch = matrix / p.heads;
  const std::int64_t head = matrix % p.heads;
  const S* const key = p.key.matrix<S>(batch, head);
  const S* const value = p.value.matrix<S>(batch, head);
  const int end = p.causal ? min(p.keys, first + kQueries) : p.keys;

  const auto load_keys = [&](int k) {
    S* const to = tiles + k / kKeys % 2 * (2 * kKeys * kWidth);
    Tile::template load<kKeys, kThreads>(to, key, p.key, k, p.keys, p.width);
    Tile::template load<kKeys, kThreads>(to + kKeys * kWidth, value, p.value, k, p.keys, p.value_width);
    close_copies();
  };
  Tile::template load<kQueries, kThreads>(queries, p.query.matrix<S>(batch, head), p.query, first, p.queries, p.width);
  load_keys(0);

  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int part = lane / 8;
  const int strip = static_cast<int>(threadIdx.x) / 32 * (16 * kStrips);
  // A negative factor would make the lowest product the largest score; the queries' signs turn instead.
  const Pair flip = p.scale < 0 ? 0x80008000u : 0;
  const float factor = std::abs(p.scale) * kLog2E;
  const auto load_query = [&](Pair(&to)[4], int s, int step) {
    load_matrices(to, queries + Tile::place(strip + 16 * s + part % 2 * 8 + lane % 8, 2 * step + part / 2));
    for (Pair& pair : to) pair ^= flip;
  };

  constexpr int kHeld = Tiling::kHoldQuery ? kWidth / 16 : 1;
  Pair held[kStrips][kHeld][4];
  float sums[kStrips][kWidth / 8][4] = {};
  float top[kStrips][2];
  float total[kStrips][2];
  for (int s = 0; s < kStrips; ++s) {
    for (int half = 0; half < 2; ++half) {
      top[s][half] = kLowest;
      total[s][half] = 0;
    }
  }

  for (int k = 0; k < end; k += kKeys) {
    wait_for_copies<0>();
    __syncthreads();  // the tile is there, and nobody reads the one before any more
    if (k + kKeys < end) load_keys(k + kKeys);
    const S* const keys = tiles + k / kKeys % 2 * (2 * kKeys * kWidth);
    const S* const values = keys + kKeys * kWidth;
    if constexpr (Tiling::kHoldQuery) {
      if (k == 0) {
#pragma unroll
        for (int s = 0; s < kStrips; ++s) {
#pragma unroll
          for (int step = 0; step < kWidth / 16; ++step) load_query(held[s][step], s, step);
        }
      }
    }
    float scores[kStrips][kKeys / 8][4] = {};
#pragma unroll
    for (int step = 0; step < kWidth / 16; ++step) {
      if constexpr (!Tiling::kHoldQuery) {
#pragma unroll
        for (int s = 0; s < kStrips; ++s) load_query(held[s][0], s, step);
      }
#pragma unroll
      for (int n = 0; n < kKeys / 16; ++n) {
        Pair b[4];
        load_matrices(b, keys + Tile::place(16 * n + part / 2 * 8 + lane % 8, 2 * step + part % 2));
#pragma unroll
        for (int s = 0; s < kStrips; ++s) {
          const auto& a = held[s][Tiling::kHoldQuery ? step : 0];
          multiply_add<S>(scores[s][2 * n], a, b[0], b[1]);
          multiply_add<S>(scores[s][2 * n + 1], a, b[2], b[3]);
        }
      }
    }
    if (k + kKeys > p.keys || (p.causal && k + kKeys - 1 > first + strip)) {
#pragma unroll
      for (int s = 0; s < kStrips; ++s) {
#pragma unroll
        for (int n = 0; n < kKeys / 8; ++n) {
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            const int column = k + 8 * n + lane % 4 * 2 + i % 2;
            const int row = first + strip + 16 * s + lane / 4 + i / 2 * 8;
            if (column >= p.keys || (p.causal && column > row)) scores[s][n][i] = kLowest;
          }
        }
      }
    }
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
        const float shift = largest == kLowest ? 0 : largest * factor;
        const float shrink = quick_exp2(top[s][half] * factor - shift);
        top[s][half] = largest;
        float sum = total[s][half] * shrink;
#pragma unroll
        for (int n = 0; n < kKeys / 8; ++n) {
#pragma unroll
          for (int i = 2 * half; i < 2 * half + 2; ++i) {
            scores[s][n][i] = quick_exp2(fmaf(scores[s][n][i], factor, -shift));
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
#pragma unroll
    for (int step = 0; step < kKeys / 16; ++step) {
      Pair a[kStrips][4];
#pragma unroll
      for (int s = 0; s < kStrips; ++s) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const float* const from = &scores[s][2 * step + i / 2][i % 2 * 2];
          a[s][i] = pack_pair<S>(from[0], from[1]);
        }
      }
#pragma unroll
      for (int n = 0; n < kWidth / 16; ++n) {
        Pair b[4];
        load_matrices_transposed(b, values + Tile::place(16 * step + part % 2 * 8 + lane % 8, 2 * n + part / 2));
#pragma unroll
        for (int s = 0; s < kStrips; ++s) {
          multiply_add<S>(sums[s][2 * n], a[s], b[0], b[1]);
          multiply_add<S>(sums[s][2 * n + 1], a[s], b[2], b[3]);
        }
      }
    }
  }

#pragma unroll
  for (int s = 0; s < kStrips; ++s) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float sum = total[s][half];
      sum += __shfl_xor_sync(~0u, sum, 1);
      sum += __shfl_xor_sync(~0u, sum, 2);
      const int row = first + strip + 16 * s + lane / 4 + half * 8;
      if (row >= p.queries) continue;
      const std::int64_t at = matrix * p.queries + row;
      // Infinite if no key is visible, so that every recomputed probability is 0.
      if (lane % 4 == 0) {
        logsumexp[at] =
            sum > 0 ? (top[s][half] * factor + std::log2(sum)) * kLn2 : std::numeric_limits<float>::infinity();
      }
      const float scale = sum > 0 ? 1 / sum : 0;
      S* const to = out + at * p.value_width;
#pragma unroll
      for (int n = 0; n < kWidth / 8; ++n) {
        const int column = 8 * n + lane % 4 * 2;
        const Pair pair = pack_pair<S>(sums[s][n][2 * half] * scale, sums[s][n][2 * half + 1] * scale);
        if (p.value_width % 2 == 0) {
          if (column < p.value_width) *reinterpret_cast<Pair*>(to + column) = pair;
        } else {
          if (column < p.value_width) to[column].bits = static_cast<std::uint16_t>(pair & 0xffffu);
          if (column + 1 < p.value_width) to[column + 1].bits = static_cast<std::uint16_t>(pair >> 16);
        }
      }
    }
  }
}

}  // namespace lamella::cuda
