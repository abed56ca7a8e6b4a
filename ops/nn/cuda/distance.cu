#include <algorithm>
#include <cmath>
#include <cstdint>

#include "engine/runtime/cuda/device_guard.h"
#include "engine/runtime/cuda/launch.h"
#include "engine/runtime/cuda/stream.h"
#include "ops/reduce/norm_range.h"
#include "ops/support/device_kernels.h"

namespace lamella::cuda {
namespace {

constexpr DTypeSet kTaken{DType::Float32, DType::Float64};
constexpr int kTile = 16;    // rows and columns of the distances of a block, and elements that it loads of each row
constexpr int kChunk = 32;   // elements of a row of the gradient per block
constexpr int kOwnRows = 8;  // rows of the gradient per block
constexpr std::int64_t kMaxBlocks = 1 << 20;

/// The way in which p-norms of differences are computed.
enum class Norm : std::uint8_t { Count, Sum, Root, Largest, Power };

Norm norm_of(double p) {
  return p == 0 ? Norm::Count : p == 1 ? Norm::Sum : p == 2 ? Norm::Root : std::isinf(p) ? Norm::Largest : Norm::Power;
}

struct DistanceArgs {
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t width;
  /// Tiles along the rows and the columns of a matrix, and in all.
  std::int64_t down;
  std::int64_t across;
  std::int64_t tiles;
  double p;
};

template <Norm kNorm, class T>
__device__ T added(T total, T d, T p) {
  if constexpr (kNorm == Norm::Count) return total + (d != 0 ? T(1) : T(0));
  if constexpr (kNorm == Norm::Sum) return total + std::abs(d);
  if constexpr (kNorm == Norm::Root) return total + d * d;
  if constexpr (kNorm == Norm::Largest) return d != d || std::abs(d) > total ? std::abs(d) : total;
  return total + std::pow(std::abs(d), p);
}

/// Returns the norm whose sum of powers is `total`; where that is beyond the range of numbers, computed from the rows.
template <Norm kNorm, class T>
__device__ T finished(T total, const T* a, const T* b, std::int64_t width, double p) {
  if constexpr (kNorm != Norm::Root && kNorm != Norm::Power) return total;
  if (is_beyond_range(total)) {
    ScaledNorm norm(p);
    const auto magnitude = [&](std::int64_t k) {
      return std::abs(static_cast<double>(a[k]) - static_cast<double>(b[k]));
    };
    for (std::int64_t k = 0; k < width; ++k) norm.measure(magnitude(k));
    for (std::int64_t k = 0; k < width; ++k) norm.add(magnitude(k));
    return static_cast<T>(norm.result());
  }
  return kNorm == Norm::Root ? std::sqrt(total) : std::pow(total, static_cast<T>(1 / p));
}

template <Norm kNorm, class T>
__global__ void __launch_bounds__(kTile* kTile)
    distance_kernel(const T* x, const T* y, T* out, const __grid_constant__ DistanceArgs args) {
  __shared__ T own[kTile][kTile + 1];
  __shared__ T other[kTile][kTile + 1];
  const int column = static_cast<int>(threadIdx.x) % kTile;
  const int row = static_cast<int>(threadIdx.x) / kTile;
  for (std::int64_t tile = blockIdx.x; tile < args.tiles; tile += gridDim.x) {
    const std::int64_t batch = tile / (args.down * args.across);
    const std::int64_t first_row = tile / args.across % args.down * kTile;
    const std::int64_t first_column = tile % args.across * kTile;
    const T* const from = x + batch * args.rows * args.width;
    const T* const to = y + batch * args.columns * args.width;
    T total = 0;
    for (std::int64_t k = 0; k < args.width; k += kTile) {
      __syncthreads();  // the elements before have been read
      const bool inside = k + column < args.width;
      own[row][column] =
          inside && first_row + row < args.rows ? from[(first_row + row) * args.width + k + column] : T(0);
      other[row][column] =
          inside && first_column + row < args.columns ? to[(first_column + row) * args.width + k + column] : T(0);
      __syncthreads();
      T part = 0;  // sums of few terms, which keep the rounding error small
      for (int i = 0; i < kTile; ++i) {
        part = added<kNorm>(part, own[row][i] - other[column][i], static_cast<T>(args.p));
      }
      total = kNorm == Norm::Largest ? added<kNorm>(total, part, T(1)) : total + part;
    }
    const std::int64_t r = first_row + row;
    const std::int64_t c = first_column + column;
    if (r >= args.rows || c >= args.columns) continue;
    out[(batch * args.rows + r) * args.columns + c] =
        finished<kNorm>(total, from + r * args.width, to + c * args.width, args.width, args.p);
  }
}

void row_distances(const Tensor& x, const Tensor& y, double p, const Tensor& out, const char* op) {
  DistanceArgs args;
  args.rows = x.size(-2);
  args.columns = y.size(-2);
  args.width = x.size(-1);
  args.down = (args.rows + kTile - 1) / kTile;
  args.across = (args.columns + kTile - 1) / kTile;
  args.tiles = out.numel() / (args.rows * args.columns) * args.down * args.across;
  args.p = p;
  const cudaStream_t stream = current_stream(out.device());
  const DeviceGuard guard(out.device());
  const auto blocks = static_cast<unsigned>(std::min(kMaxBlocks, args.tiles));
  visit<kTaken>(x.dtype(), op, [&]<class T>() {
    const auto run = [&](auto kernel) {
      launch(op, kernel, blocks, kTile * kTile, 0, stream, x.data<T>(), y.data<T>(), out.data<T>(), args);
    };
    switch (norm_of(p)) {
      case Norm::Count:
        return run(distance_kernel<Norm::Count, T>);
      case Norm::Sum:
        return run(distance_kernel<Norm::Sum, T>);
      case Norm::Root:
        return run(distance_kernel<Norm::Root, T>);
      case Norm::Largest:
        return run(distance_kernel<Norm::Largest, T>);
      case Norm::Power:
        return run(distance_kernel<Norm::Power, T>);
    }
  });
}

struct WeightArgs {
  std::int64_t rows;
  std::int64_t others;
  std::int64_t width;
  /// Distance of the weights of a row's neighbors, and of those of its differences.
  std::int64_t row_step;
  std::int64_t other_step;
  /// Blocks along a row, and in all.
  std::int64_t chunks;
  std::int64_t blocks;
  std::int64_t all_rows;
  bool signs;
};

template <class T>
__global__ void __launch_bounds__(kChunk* kOwnRows)
    weighted_kernel(const T* x, const T* y, const T* weights, T* out, const __grid_constant__ WeightArgs args) {
  for (std::int64_t block = blockIdx.x; block < args.blocks; block += gridDim.x) {
    const std::int64_t k = block % args.chunks * kChunk + threadIdx.x % kChunk;
    const std::int64_t r = block / args.chunks * kOwnRows + threadIdx.x / kChunk;
    if (k >= args.width || r >= args.all_rows) continue;
    const std::int64_t batch = r / args.rows;
    const T* const own = weights + batch * args.rows * args.others + r % args.rows * args.row_step;
    const T* const to = y + batch * args.others * args.width + k;
    const T from = x[r * args.width + k];
    T total = 0;
    for (std::int64_t first = 0; first < args.others; first += kTile) {
      const std::int64_t end = min(first + kTile, args.others);
      T part = 0;
      for (std::int64_t j = first; j < end; ++j) {
        const T d = from - to[j * args.width];
        const T lifted = !args.signs || d != d ? d : d > 0 ? T(1) : d < 0 ? T(-1) : T(0);
        part += own[j * args.other_step] * lifted;
      }
      total += part;
    }
    out[r * args.width + k] = total;
  }
}

void weighted_differences(const Tensor& x, const Tensor& y, const Tensor& weights, bool across, bool signs,
                          const Tensor& out, const char* op) {
  WeightArgs args;
  args.rows = x.size(-2);
  args.others = y.size(-2);
  args.width = x.size(-1);
  args.row_step = across ? 1 : args.others;
  args.other_step = across ? args.rows : 1;
  args.all_rows = out.numel() / args.width;
  args.chunks = (args.width + kChunk - 1) / kChunk;
  args.blocks = (args.all_rows + kOwnRows - 1) / kOwnRows * args.chunks;
  args.signs = signs;
  const cudaStream_t stream = current_stream(out.device());
  const DeviceGuard guard(out.device());
  visit<kTaken>(x.dtype(), op, [&]<class T>() {
    launch(op, weighted_kernel<T>, static_cast<unsigned>(std::min(kMaxBlocks, args.blocks)), kChunk * kOwnRows, 0,
           stream, x.data<T>(), y.data<T>(), weights.data<T>(), out.data<T>(), args);
  });
}

[[maybe_unused]] const bool kDistanceRegistered =
    register_kernel<&DeviceKernels::row_distances>(DeviceType::CUDA, row_distances) &&
    register_kernel<&DeviceKernels::weighted_differences>(DeviceType::CUDA, weighted_differences);

}  // namespace
}  // namespace lamella::cuda
