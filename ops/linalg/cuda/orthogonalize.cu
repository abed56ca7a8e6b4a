#include <limits>

#include "engine/runtime/cuda/device_guard.h"
#include "engine/runtime/cuda/launch.h"
#include "engine/runtime/cuda/stream.h"
#include "ops/creation/creation.h"
#include "ops/cuda/grid.h"
#include "ops/linalg/cuda/number.h"
#include "ops/support/device_kernels.h"

// One-sided Jacobi rotations (Hestenes, Inversion of matrices by biorthogonalization and related results, 1958): a warp
// makes two rows orthogonal. In a round each row has one partner, and in a sweep each has had all others (Brent and
// Luk, The solution of singular-value and symmetric eigenvalue problems on multiprocessor arrays, 1985). Sweeps follow
// until none rotates.

namespace lamella::cuda {
namespace {

constexpr std::int32_t kWarp = 32;
constexpr std::int32_t kWarps = 8;  // of a block
constexpr std::int32_t kMostSweeps = 30;
/// Rows up to which a block makes all sweeps of a matrix; with more, each round is a launch of many blocks.
constexpr std::int64_t kFewRows = 128;

struct JacobiArgs {
  void* rows;     // [batches, n, length]
  void* vectors;  // [batches, n, n], or null
  std::int64_t n;
  std::int64_t length;
  std::int64_t players;  // n, rounded up to an even number
  double tolerance;
  std::int32_t* rotations;
  std::int32_t* done;
  std::int64_t batches;
};

__device__ double sum_of_warp(double mine) {
  for (int distance = kWarp / 2; distance > 0; distance /= 2) mine += __shfl_xor_sync(0xffffffffu, mine, distance);
  return mine;
}

template <class T>
struct Rotation {
  PartOf<T> cosine;
  PartOf<T> sine;
  T phase;
};

/// p, q = c p - s u q, s p + c u q
template <class T>
__device__ void rotate(T* p, T* q, std::int64_t length, const Rotation<T>& by, std::int32_t lane) {
  for (std::int64_t i = lane; i < length; i += kWarp) {
    const T turned = by.phase * q[i];
    const T kept = p[i];
    p[i] = times_real(kept, by.cosine) - times_real(turned, by.sine);
    q[i] = times_real(kept, by.sine) + times_real(turned, by.cosine);
  }
}

/// Makes two rows orthogonal; returns false if they are.
template <class T>
__device__ bool rotate_pair(const JacobiArgs& args, std::int64_t batch, std::int64_t first, std::int64_t second,
                            std::int32_t lane) {
  T* const rows = static_cast<T*>(args.rows) + batch * args.n * args.length;
  T* const p = rows + first * args.length;
  T* const q = rows + second * args.length;
  double p_square = 0, q_square = 0, real = 0, imaginary = 0;
  for (std::int64_t i = lane; i < args.length; i += kWarp) {
    const T x = p[i];
    const T y = q[i];
    p_square += square_of(x);
    q_square += square_of(y);
    real += double{real_part(x)} * real_part(y) + double{imaginary_part(x)} * imaginary_part(y);
    imaginary += double{imaginary_part(x)} * real_part(y) - double{real_part(x)} * imaginary_part(y);
  }
  p_square = sum_of_warp(p_square);
  q_square = sum_of_warp(q_square);
  real = sum_of_warp(real);
  if constexpr (!std::is_floating_point_v<T>) imaginary = sum_of_warp(imaginary);
  const double product = hypot(real, imaginary);
  // Also for NaN.
  if (!(product > args.tolerance * sqrt(p_square) * sqrt(q_square))) return false;
  const double cotangent = (q_square - p_square) / (2 * product);
  const double tangent = copysign(1 / (std::abs(cotangent) + sqrt(1 + cotangent * cotangent)), cotangent);
  if (tangent == 0) return false;
  Rotation<T> rotation;
  const double cosine = 1 / sqrt(1 + tangent * tangent);
  rotation.cosine = static_cast<PartOf<T>>(cosine);
  rotation.sine = static_cast<PartOf<T>>(cosine * tangent);
  if constexpr (std::is_floating_point_v<T>) {
    rotation.phase = real < 0 ? -1 : 1;
  } else {
    rotation.phase = {static_cast<PartOf<T>>(real / product), static_cast<PartOf<T>>(imaginary / product)};
  }
  rotate(p, q, args.length, rotation, lane);
  if (args.vectors) {
    T* const vectors = static_cast<T*>(args.vectors) + batch * args.n * args.n;
    rotate(vectors + first * args.n, vectors + second * args.n, args.n, rotation, lane);
  }
  return true;
}

/// Rotates pair k of a round; returns true if it did.
template <class T>
__device__ bool rotate_in_round(const JacobiArgs& args, std::int64_t batch, std::int64_t round, std::int64_t k,
                                std::int32_t lane) {
  // The first player stays, and the others go round.
  const auto player = [&](std::int64_t seat) { return seat == 0 ? 0 : 1 + (seat - 1 + round) % (args.players - 1); };
  const std::int64_t one = player(k);
  const std::int64_t other = player(args.players - 1 - k);
  if (one >= args.n || other >= args.n) return false;
  return rotate_pair<T>(args, batch, min(one, other), max(one, other), lane);
}

/// Makes all sweeps of a matrix per block.
template <class T>
__global__ void __launch_bounds__(kWarp* kWarps) sweeps_kernel(const __grid_constant__ JacobiArgs args) {
  __shared__ std::int32_t rotated;
  const auto lane = static_cast<std::int32_t>(threadIdx.x);
  const auto warp = static_cast<std::int32_t>(threadIdx.y);
  const bool first = lane == 0 && warp == 0;
  bool goes_on = true;
  for (std::int32_t sweep = 0; sweep < kMostSweeps && goes_on; ++sweep) {
    if (first) rotated = 0;
    __syncthreads();
    for (std::int64_t round = 0; round + 1 < args.players; ++round) {
      for (std::int64_t k = warp; k < args.players / 2; k += kWarps) {
        if (rotate_in_round<T>(args, blockIdx.x, round, k, lane) && lane == 0) rotated = 1;
      }
      __syncthreads();
    }
    goes_on = rotated != 0;
    __syncthreads();
  }
  if (first) args.done[blockIdx.x] = goes_on ? 0 : 1;
}

/// Makes a round, a pair per warp.
template <class T>
__global__ void __launch_bounds__(kWarp* kWarps)
    round_kernel(const __grid_constant__ JacobiArgs args, const std::int64_t round) {
  const std::int64_t pairs = args.players / 2;
  const std::int64_t item = std::int64_t{blockIdx.x} * kWarps + threadIdx.y;
  const std::int64_t batch = item / pairs;
  if (batch >= args.batches || args.done[batch] != 0) return;
  const auto lane = static_cast<std::int32_t>(threadIdx.x);
  if (rotate_in_round<T>(args, batch, round, item % pairs, lane) && lane == 0) atomicAdd(&args.rotations[batch], 1);
}

/// Notes the matrices that no sweep needs any more.
__global__ void __launch_bounds__(kGridThreads) sweep_end_kernel(const __grid_constant__ JacobiArgs args) {
  for_each_element(args.batches, [&](std::int64_t i) {
    if (args.rotations[i] == 0) args.done[i] = 1;
    args.rotations[i] = 0;
  });
}

__global__ void __launch_bounds__(kGridThreads)
    info_kernel(const std::int32_t* done, std::int32_t* info, std::int64_t batches) {
  for_each_element(batches, [&](std::int64_t i) { info[i] = done[i] == 0; });
}

void orthogonalize(const Tensor& rows, const Tensor& vectors, const Tensor& info, const char* op) {
  const Device device = rows.device();
  const DeviceGuard guard(device);
  const cudaStream_t stream = current_stream(device);
  const std::int64_t n = rows.size(-2);
  const std::int64_t length = rows.size(-1);
  const std::int64_t batches = rows.numel() / (n * length);
  const bool single = rows.dtype() == DType::Float32 || rows.dtype() == DType::Complex64;
  const double epsilon = single ? std::numeric_limits<float>::epsilon() : std::numeric_limits<double>::epsilon();
  const Tensor state = zeros({2, batches}, DType::Int32, device);
  auto* const counts = static_cast<std::int32_t*>(state.raw_data());
  const JacobiArgs args{.rows = rows.raw_data(),
                        .vectors = vectors.defined() ? vectors.raw_data() : nullptr,
                        .n = n,
                        .length = length,
                        .players = n + n % 2,
                        .tolerance = epsilon * std::max(4.0, std::sqrt(static_cast<double>(length))),
                        .rotations = counts,
                        .done = counts + batches,
                        .batches = batches};
  const dim3 block(kWarp, kWarps);
  visit_numbers(rows.dtype(), [&]<class T>() {
    if (n <= kFewRows) {
      launch(op, sweeps_kernel<T>, static_cast<unsigned>(batches), block, 0, stream, args);
      return;
    }
    // Rounds of matrices that are done end at once, which costs less than waiting for the device after each sweep.
    const auto blocks = static_cast<unsigned>((args.players / 2 * batches + kWarps - 1) / kWarps);
    for (std::int32_t sweep = 0; sweep < kMostSweeps; ++sweep) {
      for (std::int64_t round = 0; round + 1 < args.players; ++round) {
        launch(op, round_kernel<T>, blocks, block, 0, stream, args, round);
      }
      launch(op, sweep_end_kernel, grid_blocks(batches), kGridThreads, 0, stream, args);
    }
  });
  launch(op, info_kernel, grid_blocks(batches), kGridThreads, 0, stream, static_cast<const std::int32_t*>(args.done),
         static_cast<std::int32_t*>(info.raw_data()), batches);
}

[[maybe_unused]] const bool kOrthogonalizeRegistered =
    register_kernel<&DeviceKernels::orthogonalize>(DeviceType::CUDA, orthogonalize);

}  // namespace
}  // namespace lamella::cuda
