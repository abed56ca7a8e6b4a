#pragma once

#include <math.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <functional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "cuda_runtime_api.h"

// What nvcc knows by itself: the words of the language, the built-in variables and functions of device code, launches.

#define __global__
#define __device__
#define __host__
#define __constant__
#define __forceinline__ inline
#define __restrict__ __restrict
#define __grid_constant__
#define __launch_bounds__(...)
// Blocks run one after another, so that one copy of a block's memory serves all of them.
#define __shared__ static

struct alignas(8) int2 {
  int x, y;
};
struct alignas(8) uint2 {
  unsigned x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
struct alignas(8) float2 {
  float x, y;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
struct alignas(16) double2 {
  double x, y;
};

// The thread that runs; set at every switch.
extern uint3 threadIdx;
extern uint3 blockIdx;
extern dim3 blockDim;
extern dim3 gridDim;
inline constexpr int warpSize = 32;

namespace emulation {

/// A queued call of a kernel: `run` is called once per thread.
struct Kernel {
  std::function<void()> run;
  /// Address of its code, by which messages name it.
  const void* code;
  dim3 grid;
  dim3 block;
  std::size_t shared;
};

/// Launches a kernel, as cudaLaunchKernel() does.
cudaError_t launch(Kernel kernel, cudaStream_t stream);

/// Waits for all threads of the block.
void block_barrier();
/// Waits for all threads of the block, and returns true if any of them gave true.
bool block_any(bool mine);
/// Waits for the lanes of this thread's warp in `mask`.
void warp_barrier(unsigned mask);
/// Returns this thread's slot of 16 bytes, by which the lanes of a warp exchange values, or that of another lane.
void* own_slot();
const void* slot_of(unsigned lane);
/// Returns the bits of the warp's lanes that have not ended, in `mask`.
unsigned live_lanes(unsigned mask);
/// Returns the position of this thread in its warp.
unsigned lane_id();
/// Returns the memory that the launch asked for.
void* dynamic_shared();

template <class T>
T exchange(unsigned mask, T value, unsigned lane) {
  static_assert(sizeof(T) <= 16);
  std::memcpy(own_slot(), &value, sizeof(T));
  warp_barrier(mask);
  T result;
  std::memcpy(&result, slot_of(lane), sizeof(T));
  warp_barrier(mask);
  return result;
}

}  // namespace emulation

/// Launches `kernel` with its arguments' addresses, as CUDA's function of this name does.
template <class... P>
cudaError_t cudaLaunchKernel(void (*kernel)(P...), dim3 grid, dim3 block, void** arguments, std::size_t shared,
                             cudaStream_t stream) {
  auto values = [&]<std::size_t... I>(std::index_sequence<I...>) {
    return std::tuple<std::remove_cvref_t<P>...>(*static_cast<std::remove_cvref_t<P>*>(arguments[I])...);
  }(std::index_sequence_for<P...>{});
  return emulation::launch({[kernel, values = std::move(values)] { std::apply(kernel, values); },
                            reinterpret_cast<const void*>(kernel), grid, block, shared},
                           stream);
}

template <class... P>
cudaError_t cudaFuncSetAttribute(void (*kernel)(P...), cudaFuncAttribute attribute, int value) {
  return cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel), attribute, value);
}

namespace emulation {

/// A launch as emulating-nvcc writes it: `Launcher(grid, block, shared, stream)(kernel)(arguments)`.
class Launcher {
 public:
  Launcher(dim3 grid, dim3 block, std::size_t shared = 0, cudaStream_t stream = nullptr)
      : grid_(grid), block_(block), shared_(shared), stream_(stream) {}

  template <class... P>
  auto operator()(void (*kernel)(P...)) const {
    return [kernel, self = *this](std::type_identity_t<P>... arguments) {
      void* addresses[sizeof...(P) + 1] = {&arguments...};
      static_cast<void>(cudaLaunchKernel(kernel, self.grid_, self.block_, addresses, self.shared_, self.stream_));
    };
  }

 private:
  dim3 grid_;
  dim3 block_;
  std::size_t shared_;
  cudaStream_t stream_;
};

}  // namespace emulation

inline void __syncthreads() { emulation::block_barrier(); }
inline int __syncthreads_or(int predicate) { return emulation::block_any(predicate != 0); }
inline void __syncwarp(unsigned mask = 0xffffffffu) { emulation::warp_barrier(mask); }
inline void __threadfence() {}
inline void __threadfence_block() {}
inline void __threadfence_system() {}
inline unsigned __activemask() { return emulation::live_lanes(0xffffffffu); }

template <class T>
T __shfl_sync(unsigned mask, T value, int source, int width = warpSize) {
  const unsigned lane = emulation::lane_id();
  const auto size = static_cast<unsigned>(width);
  return emulation::exchange(mask, value, lane / size * size + static_cast<unsigned>(source) % size);
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = warpSize) {
  const unsigned lane = emulation::lane_id();
  const bool inside = lane % static_cast<unsigned>(width) >= delta;
  return emulation::exchange(mask, value, inside ? lane - delta : lane);
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = warpSize) {
  const unsigned lane = emulation::lane_id();
  const auto size = static_cast<unsigned>(width);
  const bool inside = lane % size + delta < size;
  return emulation::exchange(mask, value, inside ? lane + delta : lane);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int bits, int width = warpSize) {
  const unsigned lane = emulation::lane_id();
  const auto size = static_cast<unsigned>(width);
  const unsigned other = lane ^ static_cast<unsigned>(bits);
  return emulation::exchange(mask, value, other / size <= lane / size ? other : lane);
}
inline unsigned __ballot_sync(unsigned mask, int predicate) {
  const char vote = predicate != 0;
  std::memcpy(emulation::own_slot(), &vote, 1);
  emulation::warp_barrier(mask);
  unsigned result = 0;
  for (unsigned lane = 0; lane < 32; ++lane) {
    if ((emulation::live_lanes(mask) >> lane & 1) != 0 && *static_cast<const char*>(emulation::slot_of(lane)) != 0) {
      result |= 1u << lane;
    }
  }
  emulation::warp_barrier(mask);
  return result;
}
inline int __any_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) != 0; }
inline int __all_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate == 0) == 0; }

// Threads are switched at barriers only, so that plain reads and writes are atomic.
template <class T>
T atomicAdd(T* to, std::type_identity_t<T> value) {
  const T before = *to;
  *to = static_cast<T>(before + value);
  return before;
}
template <class T>
T atomicMax(T* to, std::type_identity_t<T> value) {
  const T before = *to;
  *to = std::max(before, value);
  return before;
}
template <class T>
T atomicMin(T* to, std::type_identity_t<T> value) {
  const T before = *to;
  *to = std::min(before, value);
  return before;
}
template <class T>
T atomicExch(T* to, std::type_identity_t<T> value) {
  return std::exchange(*to, value);
}
template <class T>
T atomicCAS(T* to, std::type_identity_t<T> compare, std::type_identity_t<T> value) {
  const T before = *to;
  if (before == compare) *to = value;
  return before;
}
template <class T>
T atomicOr(T* to, std::type_identity_t<T> value) {
  const T before = *to;
  *to = static_cast<T>(before | value);
  return before;
}

template <class T>
T __ldg(const T* from) {
  return *from;
}
inline int __popc(unsigned bits) { return std::popcount(bits); }
inline int __clz(int bits) { return std::countl_zero(static_cast<unsigned>(bits)); }
inline int __ffs(int bits) { return bits == 0 ? 0 : std::countr_zero(static_cast<unsigned>(bits)) + 1; }
inline float __int_as_float(int bits) { return std::bit_cast<float>(bits); }
inline double __longlong_as_double(long long bits) { return std::bit_cast<double>(bits); }
inline float rsqrtf(float x) { return 1 / sqrtf(x); }
inline double rsqrt(double x) { return 1 / ::sqrt(x); }
inline float __expf(float x) { return expf(x); }

template <class A, class B>
constexpr std::common_type_t<A, B> min(A a, B b) {
  return b < a ? b : a;
}
template <class A, class B>
constexpr std::common_type_t<A, B> max(A a, B b) {
  return a < b ? b : a;
}
