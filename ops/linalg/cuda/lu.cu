#include <algorithm>

#include "engine/runtime/cuda/device_guard.h"
#include "engine/runtime/cuda/launch.h"
#include "engine/runtime/cuda/stream.h"
#include "ops/cuda/grid.h"
#include "ops/linalg/cuda/number.h"
#include "ops/linalg/cuda/panels.h"
#include "ops/support/device_kernels.h"

// Gaussian elimination with exchanges of rows: a block factors the columns of a panel, from the diagonal down; then the
// other columns are exchanged alike, and those to the right solved and updated.

namespace lamella::cuda {
namespace {

constexpr int kThreads = 256;

struct LuArgs {
  void* a;
  std::int32_t* pivots;
  std::int64_t m;
  std::int64_t n;
  std::int64_t steps;
  std::int64_t first;
  std::int32_t width;
};

/// A candidate for the pivot; of equal ones the first row counts.
template <class R>
struct Candidate {
  R size;
  std::int64_t row;
};
template <class R>
__device__ Candidate<R> better(Candidate<R> a, Candidate<R> b) {
  return b.size > a.size || (b.size == a.size && b.row < a.row) ? b : a;
}

template <class T>
__global__ void __launch_bounds__(kThreads) panel_kernel(const __grid_constant__ LuArgs args) {
  __shared__ Candidate<PartOf<T>> shared[kThreads];
  __shared__ T pivot_row[kPanel];
  T* const a = static_cast<T*>(args.a) + blockIdx.x * args.m * args.n + args.first;
  const auto thread = static_cast<std::int32_t>(threadIdx.x);
  for (std::int32_t j = 0; j < args.width; ++j) {
    const std::int64_t top = args.first + j;
    Candidate<PartOf<T>> mine{-1, top};
    for (std::int64_t row = top + thread; row < args.m; row += kThreads) {
      mine = better(mine, {size_of(a[row * args.n + j]), row});
    }
    shared[thread] = mine;
    for (std::int32_t half = kThreads / 2; half > 0; half /= 2) {
      __syncthreads();
      if (thread < half) shared[thread] = better(shared[thread], shared[thread + half]);
    }
    __syncthreads();
    const std::int64_t chosen = shared[0].row;
    if (thread == 0) {
      args.pivots[blockIdx.x * args.steps + top] = static_cast<std::int32_t>(chosen + 1);
    }
    if (thread < args.width) {
      T& upper = a[top * args.n + thread];
      T& lower = a[chosen * args.n + thread];
      const T kept = upper;
      pivot_row[thread] = lower;
      upper = pivot_row[thread];
      if (chosen != top) lower = kept;
    }
    __syncthreads();
    const T pivot = pivot_row[j];
    for (std::int64_t row = top + 1 + thread; row < args.m; row += kThreads) {
      T* const x = a + row * args.n;
      if (is_zero(pivot)) continue;
      const T factor = quotient(x[j], pivot);
      x[j] = factor;
      for (std::int32_t k = j + 1; k < args.width; ++k) x[k] = x[k] - factor * pivot_row[k];
    }
    __syncthreads();
  }
}

/// Exchanges the rows of the other columns, one per thread, and solves those to the right with the unit lower triangle.
template <class T>
__global__ void __launch_bounds__(kThreads) columns_kernel(const __grid_constant__ LuArgs args) {
  __shared__ T square[kPanel][kPanel];
  const std::int64_t others = args.n - args.width;
  const std::int64_t parts = (others + kThreads - 1) / kThreads;
  const std::int64_t batch = blockIdx.x / parts;
  T* const a = static_cast<T*>(args.a) + batch * args.m * args.n;
  for (auto i = static_cast<std::int32_t>(threadIdx.x); i < args.width * args.width; i += kThreads) {
    square[i / args.width][i % args.width] = a[(args.first + i / args.width) * args.n + args.first + i % args.width];
  }
  __syncthreads();
  const std::int64_t number = blockIdx.x % parts * kThreads + threadIdx.x;
  if (number >= others) return;
  const bool is_right = number >= args.first;
  T* const x = a + (is_right ? number + args.width : number);
  const std::int32_t* const pivots = args.pivots + batch * args.steps;
  for (std::int64_t row = args.first; row < args.first + args.width; ++row) {
    const std::int64_t other = pivots[row] - 1;
    const T kept = x[row * args.n];
    x[row * args.n] = x[other * args.n];
    x[other * args.n] = kept;
  }
  if (!is_right) return;
  for (std::int32_t i = 1; i < args.width; ++i) {
    T sum = x[(args.first + i) * args.n];
    for (std::int32_t k = 0; k < i; ++k) sum = sum - square[i][k] * x[(args.first + k) * args.n];
    x[(args.first + i) * args.n] = sum;
  }
}

void lu(const Tensor& a, const Tensor& pivots, const char* op) {
  const DeviceGuard guard(a.device());
  const cudaStream_t stream = current_stream(a.device());
  const std::int64_t m = a.size(-2);
  const std::int64_t n = a.size(-1);
  const std::int64_t batches = a.numel() / (m * n);
  const auto blocks = static_cast<unsigned>(batches);
  LuArgs args{a.raw_data(), static_cast<std::int32_t*>(pivots.raw_data()), m, n, std::min(m, n), 0, 0};
  visit_numbers(a.dtype(), [&]<class T>() {
    for (; args.first < args.steps; args.first += kPanel) {
      args.width = static_cast<std::int32_t>(std::min<std::int64_t>(kPanel, args.steps - args.first));
      launch(op, panel_kernel<T>, blocks, kThreads, 0, stream, args);
      if (n > args.width) {
        const auto parts = static_cast<unsigned>((n - args.width + kThreads - 1) / kThreads);
        launch(op, columns_kernel<T>, blocks * parts, kThreads, 0, stream, args);
      }
      const std::int64_t next = args.first + args.width;
      launch_update({.a = part_of(a, next, args.first),
                     .b = part_of(a, args.first, next),
                     .c = part_of(a, next, next),
                     .m = m - next,
                     .n = n - next,
                     .k = args.width,
                     .batches = batches},
                    a.dtype(), stream, op);
    }
  });
}

/// Performs the exchanges of a matrix per thread.
__global__ void __launch_bounds__(kGridThreads)
    permutation_kernel(const std::int32_t* pivots, std::int64_t steps, std::int64_t* permutation, std::int64_t rows,
                       std::int64_t batches) {
  for_each_element(batches, [&](std::int64_t i) {
    std::int64_t* const to = permutation + i * rows;
    for (std::int64_t row = 0; row < rows; ++row) to[row] = row;
    for (std::int64_t row = 0; row < steps; ++row) {
      const std::int64_t other = pivots[i * steps + row] - std::int64_t{1};
      if (other < 0 || other >= rows) continue;
      const std::int64_t kept = to[row];
      to[row] = to[other];
      to[other] = kept;
    }
  });
}

void permutation(const Tensor& pivots, const Tensor& permutation, const char* op) {
  const DeviceGuard guard(pivots.device());
  const std::int64_t rows = permutation.size(-1);
  const std::int64_t batches = permutation.numel() / rows;
  launch(op, permutation_kernel, grid_blocks(batches), kGridThreads, 0, current_stream(pivots.device()),
         static_cast<const std::int32_t*>(pivots.raw_data()), pivots.size(-1),
         static_cast<std::int64_t*>(permutation.raw_data()), rows, batches);
}

[[maybe_unused]] const bool kLuRegistered = register_kernel<&DeviceKernels::lu>(DeviceType::CUDA, lu) &&
                                            register_kernel<&DeviceKernels::permutation>(DeviceType::CUDA, permutation);

}  // namespace
}  // namespace lamella::cuda
