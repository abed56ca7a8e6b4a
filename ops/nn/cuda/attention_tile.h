#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "engine/runtime/philox.h"
#include "ops/cuda/mma.h"
#include "ops/nn/cuda/attention_problem.h"
#include "ops/simd/convert.h"

// Note [Attention in a warp's registers]
// A warp has kStrips strips of 16 rows of a tile of scores, each in parts of 8 columns: of a part a lane has two
// neighbors of row g = lane / 4 and two of row g + 8, at column t = 2 (lane % 4). That is how the tensor cores give a
// product, and how they take the left operand of the next one, so that scores become probabilities and factors without
// leaving the lane. Numbers in float32, which tensor cores would round, lie alike and are multiplied by plain code.

namespace lamella::cuda {

inline constexpr float kLowestScore = -std::numeric_limits<float>::infinity();
inline constexpr float kLog2E = 1.4426950408889634F;

/// Returns a b + c, in one step where that is fast.
__device__ inline float fused(float a, float b, float c) {
#ifdef __NVCC__
  return fmaf(a, b, c);
#else
  return a * b + c;
#endif
}

/// A tile of rows of kWidth elements in shared memory. Its chunks of 16 bytes are at places by which eight neighboring
/// rows of one column of chunks are in different banks.
template <class S, int kWidth>
struct SharedTile {
  static constexpr int kElements = 16 / sizeof(S);
  static constexpr int kChunks = kWidth / kElements;
  static_assert(kChunks % 8 == 0);

  __device__ static int place(int row, int chunk) { return (row * kChunks + (chunk ^ (row & 7))) * kElements; }

  /// Starts to copy rows from `first`; what is beyond `rows` or `width` becomes 0.
  template <int kRows, int kThreads>
  __device__ static void load(S* to, const S* matrix, const AttentionRows& layout, int first, int rows, int width) {
    constexpr int kStep = kThreads / kChunks;
    // Each thread's place repeats after a multiple of eight rows.
    constexpr bool kRepeats = kStep % 8 == 0;
    const int row = static_cast<int>(threadIdx.x) / kChunks;
    const int chunk = static_cast<int>(threadIdx.x) % kChunks;
    const int left = chunk * kElements < width ? rows - first - row : 0;
    const S* from = matrix + (first + row) * layout.row + chunk * kElements;
    if (layout.aligned) {
#pragma unroll
      for (int r = 0; r < kRows; r += kStep) {
        S* const target = kRepeats ? to + place(row, chunk) + r * kWidth : to + place(row + r, chunk);
        start_copy(target, r < left ? from : matrix, r < left);
        from += kStep * layout.row;
      }
    } else {
#pragma unroll 1
      for (int r = 0; r < kRows; r += kStep) {
        S* const target = to + place(row + r, chunk);
        for (int e = 0; e < kElements; ++e) target[e] = r < left && chunk * kElements + e < width ? from[e] : S{};
        from += kStep * layout.row;
      }
    }
  }
};

/// Scores, or results: strips of parts of 8 columns.
template <int kStrips, int kParts>
using Strips = float[kStrips][kParts][4];

__device__ inline int lane_of_warp() { return static_cast<int>(threadIdx.x) % 32; }

/// The rows by which a warp multiplies others, from `rows` of a tile on; held in registers if kHold.
template <class S, int kWidth, int kStrips, bool kHold>
class LeftRows {
 public:
  static constexpr int kSteps = kWidth / 16;

  __device__ LeftRows(const S* tile, int first) : tile_(tile), first_(first) {}

  /// Reads what is held, once the tile is there.
  __device__ void hold() {
    if constexpr (kHold) {
#pragma unroll
      for (int s = 0; s < kStrips; ++s) {
#pragma unroll
        for (int step = 0; step < kSteps; ++step) read(held_[s][step], s, step);
      }
    }
  }

  /// Computes to = these rows times those of a tile, transposed.
  template <int kParts>
  __device__ void multiply(Strips<kStrips, kParts>& to, const S* rows) {
    using Tile = SharedTile<S, kWidth>;
    const int lane = lane_of_warp();
#pragma unroll
    for (int s = 0; s < kStrips; ++s) {
#pragma unroll
      for (int n = 0; n < kParts; ++n) {
#pragma unroll
        for (int i = 0; i < 4; ++i) to[s][n][i] = 0;
      }
    }
    if constexpr (std::is_same_v<S, float>) {
#pragma unroll 1
      for (int chunk = 0; chunk < Tile::kChunks; ++chunk) {
        float4 a[kStrips][2];
        for (int s = 0; s < kStrips; ++s) {
          for (int half = 0; half < 2; ++half)
            a[s][half] = chunk_at(tile_ + Tile::place(first_ + 16 * s + 8 * half + lane / 4, chunk));
        }
#pragma unroll
        for (int n = 0; n < kParts; ++n) {
#pragma unroll
          for (int c = 0; c < 2; ++c) {
            const float4 b = chunk_at(rows + Tile::place(8 * n + lane % 4 * 2 + c, chunk));
#pragma unroll
            for (int s = 0; s < kStrips; ++s) {
#pragma unroll
              for (int half = 0; half < 2; ++half) {
                float& sum = to[s][n][2 * half + c];
                const float4 x = a[s][half];
                sum = fused(x.w, b.w, fused(x.z, b.z, fused(x.y, b.y, fused(x.x, b.x, sum))));
              }
            }
          }
        }
      }
    } else {
      const int part = lane / 8;
#pragma unroll
      for (int step = 0; step < kSteps; ++step) {
        if constexpr (!kHold) {
#pragma unroll
          for (int s = 0; s < kStrips; ++s) read(held_[s][0], s, step);
        }
#pragma unroll
        for (int n = 0; n < kParts / 2; ++n) {
          Pair b[4];
          load_matrices(b, rows + Tile::place(16 * n + part / 2 * 8 + lane % 8, 2 * step + part % 2));
#pragma unroll
          for (int s = 0; s < kStrips; ++s) {
            multiply_add<S>(to[s][2 * n], held_[s][kHold ? step : 0], b[0], b[1]);
            multiply_add<S>(to[s][2 * n + 1], held_[s][kHold ? step : 0], b[2], b[3]);
          }
        }
      }
    }
  }

 private:
  __device__ static float4 chunk_at(const S* from) { return *reinterpret_cast<const float4*>(from); }
  __device__ void read(Pair (&to)[4], int s, int step) const {
    const int lane = lane_of_warp();
    const int row = first_ + 16 * s + lane / 8 % 2 * 8 + lane % 8;
    load_matrices(to, tile_ + SharedTile<S, kWidth>::place(row, 2 * step + lane / 16));
  }

  const S* tile_;
  int first_;
  Pair held_[kStrips][kHold ? kSteps : 1][4];
};

/// Computes sums += weights times the rows of a tile; weights are rounded to S.
template <class S, int kWidth, int kStrips, int kParts>
__device__ void add_weighted(Strips<kStrips, kWidth / 8>& sums, const Strips<kStrips, kParts>& weights, const S* rows) {
  using Tile = SharedTile<S, kWidth>;
  const int lane = lane_of_warp();
  if constexpr (std::is_same_v<S, float>) {
#pragma unroll
    for (int n = 0; n < kParts; ++n) {
#pragma unroll 1
      for (int owner = 0; owner < 4; ++owner) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          float weight[kStrips][2];
#pragma unroll
          for (int s = 0; s < kStrips; ++s) {
#pragma unroll
            for (int half = 0; half < 2; ++half)
              weight[s][half] = __shfl_sync(~0u, weights[s][n][2 * half + i], lane / 4 * 4 + owner);
          }
          const int row = 8 * n + 2 * owner + i;
#pragma unroll
          for (int w = 0; w < kWidth / 8; ++w) {
            const auto v =
                *reinterpret_cast<const float2*>(rows + Tile::place(row, 2 * w + lane % 4 / 2) + lane % 2 * 2);
#pragma unroll
            for (int s = 0; s < kStrips; ++s) {
#pragma unroll
              for (int half = 0; half < 2; ++half) {
                sums[s][w][2 * half] = fused(weight[s][half], v.x, sums[s][w][2 * half]);
                sums[s][w][2 * half + 1] = fused(weight[s][half], v.y, sums[s][w][2 * half + 1]);
              }
            }
          }
        }
      }
    }
  } else {
    const int part = lane / 8;
#pragma unroll
    for (int step = 0; step < kParts / 2; ++step) {
      Pair a[kStrips][4];
#pragma unroll
      for (int s = 0; s < kStrips; ++s) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const float* const from = &weights[s][2 * step + i / 2][i % 2 * 2];
          a[s][i] = pack_pair<S>(from[0], from[1]);
        }
      }
#pragma unroll
      for (int n = 0; n < kWidth / 16; ++n) {
        Pair b[4];
        load_matrices_transposed(b, rows + Tile::place(16 * step + part % 2 * 8 + lane % 8, 2 * n + part / 2));
#pragma unroll
        for (int s = 0; s < kStrips; ++s) {
          multiply_add<S>(sums[s][2 * n], a[s], b[0], b[1]);
          multiply_add<S>(sums[s][2 * n + 1], a[s], b[2], b[3]);
        }
      }
    }
  }
}

/// Writes a lane's numbers of one of its rows, times a factor, into a row of `width` elements.
template <class S, int kWidth>
__device__ void store_row(const float (&sums)[kWidth / 8][4], int half, float factor, S* to, int width) {
  const int lane = lane_of_warp();
#pragma unroll
  for (int n = 0; n < kWidth / 8; ++n) {
    const int column = 8 * n + lane % 4 * 2;
    const float first = sums[n][2 * half] * factor;
    const float second = sums[n][2 * half + 1] * factor;
    if constexpr (!std::is_same_v<S, float>) {
      if (width % 2 == 0) {
        if (column < width) *reinterpret_cast<Pair*>(to + column) = pack_pair<S>(first, second);
        continue;
      }
    }
    if (column < width) to[column] = convert<S>(first);
    if (column + 1 < width) to[column + 1] = convert<S>(second);
  }
}

/// One of the matrices of a problem.
struct AttentionMatrix {
  std::int64_t number;
  std::int64_t axes[3];

  __device__ AttentionMatrix(const AttentionProblem& p, std::int64_t number)
      : number(number), axes{number / p.inner[1] / p.inner[0], number / p.inner[1] % p.inner[0], number % p.inner[1]} {}

  __device__ std::int64_t offset(const std::int64_t (&strides)[3]) const {
    return axes[0] * strides[0] + axes[1] * strides[1] + axes[2] * strides[2];
  }
  template <class S>
  __device__ const S* of(const AttentionRows& rows) const {
    return static_cast<const S*>(rows.data) + offset(rows.strides);
  }
};

/// The place of a warp's tile of scores among all of its matrix; rows are keys if kByKeys, otherwise queries.
template <bool kByKeys>
struct TilePlace {
  int row;
  int column;

  __device__ int query(int s, int n, int i) const { return kByKeys ? column_of(n, i) : row_of(s, i); }
  __device__ int key(int s, int n, int i) const { return kByKeys ? row_of(s, i) : column_of(n, i); }

 private:
  __device__ int row_of(int s, int i) const { return row + 16 * s + lane_of_warp() / 4 + i / 2 * 8; }
  __device__ int column_of(int n, int i) const { return column + 8 * n + lane_of_warp() % 4 * 2 + i % 2; }
};

/// Turns products into scores: hides those that a query does not see, with -infinity. The scores lack the scale unless
/// numbers are added to them, when they have it.
template <class S, bool kByKeys, int kStrips, int kParts>
__device__ void place_scores(Strips<kStrips, kParts>& scores, const AttentionProblem& p, const AttentionMatrix& matrix,
                             TilePlace<kByKeys> at) {
  const auto each = [&](auto change) {
#pragma unroll
    for (int s = 0; s < kStrips; ++s) {
#pragma unroll
      for (int n = 0; n < kParts; ++n) {
#pragma unroll
        for (int i = 0; i < 4; ++i) change(scores[s][n][i], at.query(s, n, i), at.key(s, n, i));
      }
    }
  };
  if (p.mask.data) {
    const std::int64_t first = matrix.offset(p.mask.strides);
    each([&](float& score, int query, int key) {
      if (query >= p.queries || key >= p.keys) return;
      const std::int64_t place = first + query * p.mask.query + key * p.mask.key;
      if (p.mask.numbers) {
        score = fused(score, p.scale, convert<float>(static_cast<const S*>(p.mask.data)[place]));
      } else if (static_cast<const std::uint8_t*>(p.mask.data)[place] == 0) {
        score = kLowestScore;
      }
    });
  }
  // A negative factor would make the lowest product the largest score.
  if (p.scale < 0 && !p.mask.numbers)
    each([](float& score, int, int) { score = score == kLowestScore ? score : -score; });
  constexpr int kRows = 16 * kStrips;
  const bool all_keys = (kByKeys ? at.row + kRows : at.column + 8 * kParts) <= p.keys;
  const int first_query = kByKeys ? at.column : at.row;
  const int last_key = kByKeys ? at.row + kRows - 1 : at.column + 8 * kParts - 1;
  if (!all_keys || (p.causal && last_key > first_query)) {
    each([&](float& score, int query, int key) {
      if (key >= p.keys || (p.causal && key > query)) score = kLowestScore;
    });
  }
}

/// Returns the factor by which differences of scores become exponents of 2; not 0, which infinities would not survive.
__device__ inline float exponent_factor(const AttentionProblem& p) {
  return p.mask.numbers ? kLog2E : fmaxf(std::abs(p.scale) * kLog2E, 1e-36F);
}

/// Returns which of a lane's elements of a strip are not dropped, by bits: four for each part. All lanes must call it.
template <bool kByKeys, int kParts>
__device__ std::uint32_t kept_elements(const AttentionProblem& p, std::int64_t matrix, TilePlace<kByKeys> at, int s) {
  static_assert(kParts <= 8);
  const std::uint64_t seed = p.dropout.begin ? p.dropout.begin[0] : p.dropout.seed;
  const std::uint64_t offset = p.dropout.offset + (p.dropout.begin ? p.dropout.begin[1] : 0);
  const auto element_of = [&](int query, int key) {
    return static_cast<std::uint64_t>(matrix * p.queries + query) * static_cast<std::uint64_t>(p.keys) +
           static_cast<std::uint64_t>(key);
  };
  const auto draw = [&](std::uint64_t element) {
    const Philox::Block words = Philox::at(seed, offset + element / 4);
    std::uint32_t kept = 0;
    for (int i = 0; i < 4; ++i) kept |= static_cast<std::uint32_t>(words[i] >> 8 >= p.dropout.threshold) << i;
    return kept;
  };
  const int lane = lane_of_warp();
  std::uint32_t bits = 0;
#pragma unroll 1
  for (int n = 0; n < kParts; ++n) {
    if (p.keys % 4 == 0) {
      // Four keys have one counter. A part has as many of these as a warp has lanes: each
      // lane draws one and hands its bits on.
      if constexpr (kByKeys) {
        const std::uint32_t mine = draw(element_of(at.column + 8 * n + lane / 4, at.row + 16 * s + lane % 4 * 4));
        for (int i = 0; i < 4; ++i) {
          const std::uint32_t theirs = __shfl_sync(~0u, mine, (lane % 4 * 2 + i % 2) * 4 + lane / 16 + i / 2 * 2);
          bits |= (theirs >> (lane / 4 % 4) & 1u) << (4 * n + i);
        }
      } else {
        const int row = at.row + 16 * s + lane / 4 + lane % 4 / 2 * 8;
        const std::uint32_t mine = draw(element_of(row, at.column + 8 * n + lane % 2 * 4));
        for (int half = 0; half < 2; ++half) {
          const std::uint32_t theirs = __shfl_sync(~0u, mine, lane / 4 * 4 + lane % 4 / 2 + half * 2);
          bits |= (theirs >> (lane % 2 * 2) & 3u) << (4 * n + 2 * half);
        }
      }
    } else {
#pragma unroll 1
      for (int i = 0; i < 4; ++i) {
        const std::uint64_t element = element_of(at.query(s, n, i), at.key(s, n, i));
        bits |= (draw(element) >> (element % 4) & 1u) << (4 * n + i);
      }
    }
  }
  return bits;
}

/// Multiplies elements by a factor, but makes dropped ones 0.
template <int kParts>
__device__ void drop_elements(float (&weights)[kParts][4], std::uint32_t kept, float factor) {
#pragma unroll
  for (int n = 0; n < kParts; ++n) {
#pragma unroll
    for (int i = 0; i < 4; ++i) weights[n][i] = (kept >> (4 * n + i) & 1u) != 0 ? weights[n][i] * factor : 0;
  }
}

}  // namespace lamella::cuda
