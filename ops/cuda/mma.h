#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "engine/core/half.h"

// Products of small matrices by a warp, on tensor cores, and what brings their operands from memory. The emulation has
// no such instructions: there the same is done by plain code across the warp's lanes.
//
// A lane holds pairs of neighbors of a 16 x 16 matrix A, a 16 x 8 matrix B and a 16 x 8 matrix C = A B + C. With
// g = lane / 4 and t = 2 (lane % 4): A has the pairs at (g, t), (g + 8, t), (g, t + 8), (g + 8, t + 8), B those at rows
// t and t + 8 of column g, going down, and C numbers at (g, t), (g, t + 1), (g + 8, t), (g + 8, t + 1).

namespace lamella::cuda {

/// Two neighbors in 16 bits each, the first in the lower half.
using Pair = std::uint32_t;

#ifdef __NVCC__

namespace detail {

__device__ inline std::uint32_t shared_address(const void* shared) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
}

}  // namespace detail

/// Returns the memory that the launch asked for.
__device__ inline void* dynamic_shared() {
  extern __shared__ uint4 memory[];
  return memory;
}

/// Returns two numbers, rounded.
template <class S>
__device__ Pair pack_pair(float first, float second) {
  Pair pair;
  if constexpr (std::is_same_v<S, BFloat16>) {
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
  } else {
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
  }
  return pair;
}

/// Computes c += a b; the whole warp must call it.
template <class S>
__device__ void multiply_add(float (&c)[4], const Pair (&a)[4], Pair b0, Pair b1) {
  if constexpr (std::is_same_v<S, BFloat16>) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  } else {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
}

/// Loads four 8 x 8 matrices from shared memory, of which lanes 8 i to 8 i + 7 give the rows of matrix i, 16 bytes
/// each: a lane gets the pair at (g, t).
__device__ inline void load_matrices(Pair (&to)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(detail::shared_address(row))
               : "memory");
}

/// Loads four matrices transposed: a lane gets rows t and t + 1 of column g.
__device__ inline void load_matrices_transposed(Pair (&to)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(detail::shared_address(row))
               : "memory");
}

/// Starts to copy 16 bytes, both aligned, into shared memory; zeros if not `inside`.
__device__ inline void start_copy(void* shared, const void* from, bool inside) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(detail::shared_address(shared)), "l"(from),
               "r"(inside ? 16 : 0)
               : "memory");
}

/// Closes the group of copies that were started.
__device__ inline void close_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }

/// Waits for this thread's groups of copies but the last kOpen.
template <int kOpen>
__device__ void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kOpen) : "memory");
}

/// Returns 2^x up to some 2^-22 of it; tiny results are 0.
__device__ inline float quick_exp2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

#else

inline void* dynamic_shared() { return emulation::dynamic_shared(); }

template <class S>
Pair pack_pair(float first, float second) {
  const S values[] = {S(first), S(second)};
  Pair pair;
  std::memcpy(&pair, values, sizeof(pair));
  return pair;
}

template <class S>
void multiply_add(float (&c)[4], const Pair (&a)[4], Pair b0, Pair b1) {
  const unsigned lane = emulation::lane_id();
  const unsigned g = lane / 4;
  const unsigned t = lane % 4 * 2;
  S rows[2][16];
  S columns[2][16];
  std::memcpy(emulation::own_slot(), a, sizeof(a));
  __syncwarp();
  for (unsigned i = 0; i < 4; ++i) {
    for (unsigned part = 0; part < 4; ++part) {
      const char* pair = static_cast<const char*>(emulation::slot_of(4 * g + i)) + 4 * part;
      std::memcpy(&rows[part % 2][2 * i + part / 2 * 8], pair, 4);
    }
  }
  __syncwarp();
  const Pair b[] = {b0, b1};
  std::memcpy(emulation::own_slot(), b, sizeof(b));
  __syncwarp();
  for (unsigned column = 0; column < 2; ++column) {
    for (unsigned i = 0; i < 4; ++i) {
      for (unsigned part = 0; part < 2; ++part) {
        const char* pair = static_cast<const char*>(emulation::slot_of(4 * (t + column) + i)) + 4 * part;
        std::memcpy(&columns[column][2 * i + part * 8], pair, 4);
      }
    }
  }
  __syncwarp();
  for (unsigned row = 0; row < 2; ++row) {
    for (unsigned column = 0; column < 2; ++column) {
      float sum = c[2 * row + column];
      for (unsigned k = 0; k < 16; ++k)
        sum += static_cast<float>(rows[row][k]) * static_cast<float>(columns[column][k]);
      c[2 * row + column] = sum;
    }
  }
}

namespace detail {

inline void load_matrices(Pair (&to)[4], const void* row, bool transposed) {
  const unsigned lane = emulation::lane_id();
  std::memcpy(emulation::own_slot(), &row, sizeof(row));
  __syncwarp();
  for (unsigned i = 0; i < 4; ++i) {
    std::uint16_t pair[2];
    for (unsigned part = 0; part < 2; ++part) {
      const unsigned r = transposed ? lane % 4 * 2 + part : lane / 4;
      const unsigned column = transposed ? lane / 4 : lane % 4 * 2 + part;
      const char* from;
      std::memcpy(&from, emulation::slot_of(8 * i + r), sizeof(from));
      std::memcpy(&pair[part], from + 2 * column, 2);
    }
    std::memcpy(&to[i], pair, 4);
  }
  __syncwarp();
}

}  // namespace detail

inline void load_matrices(Pair (&to)[4], const void* row) { detail::load_matrices(to, row, false); }
inline void load_matrices_transposed(Pair (&to)[4], const void* row) { detail::load_matrices(to, row, true); }

inline void start_copy(void* shared, const void* from, bool inside) {
  if (inside) {
    std::memcpy(shared, from, 16);
  } else {
    std::memset(shared, 0, 16);
  }
}
inline void close_copies() {}
template <int kOpen>
void wait_for_copies() {}

inline float quick_exp2(float x) { return exp2f(x); }

#endif

}  // namespace lamella::cuda
