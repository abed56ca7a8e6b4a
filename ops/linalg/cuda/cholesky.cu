#include <algorithm>

#include "engine/runtime/cuda/device_guard.h"
#include "engine/runtime/cuda/launch.h"
#include "engine/runtime/cuda/stream.h"
#include "ops/cuda/grid.h"
#include "ops/linalg/cuda/number.h"
#include "ops/linalg/cuda/panels.h"
#include "ops/support/device_kernels.h"

// Right-looking: the square at the diagonal, the rows below it, and the rest of the matrix less their product.

namespace lamella::cuda {
namespace {

struct CholeskyArgs {
  void* a;
  std::int32_t* info;
  std::int64_t n;
  std::int64_t first;  // of the panel
  std::int32_t width;
};

/// Factors the square at the diagonal of a matrix per block, row by thread.
template <class T>
__global__ void __launch_bounds__(kPanel) square_kernel(const __grid_constant__ CholeskyArgs args) {
  __shared__ T square[kPanel][kPanel + 1];
  __shared__ std::int32_t failed;
  const auto row = static_cast<std::int32_t>(threadIdx.x);
  T* const a = static_cast<T*>(args.a) + blockIdx.x * args.n * args.n + args.first * (args.n + 1);
  std::int32_t& info = args.info[blockIdx.x];
  if (args.first > 0 && info != 0) return;
  if (row == 0) failed = 0;
  if (row < args.width) {
    for (std::int32_t k = 0; k <= row; ++k) square[row][k] = a[row * args.n + k];
  }
  for (std::int32_t j = 0; j < args.width; ++j) {
    __syncthreads();
    if (row == j) {
      const PartOf<T> pivot = real_part(square[j][j]);
      // Also for NaN.
      if (!(pivot > 0)) failed = j + 1;
      square[j][j] = real_number<T>(sqrt(pivot));
    }
    __syncthreads();
    if (failed != 0) break;
    if (row > j && row < args.width) square[row][j] = times_real(square[row][j], 1 / real_part(square[j][j]));
    __syncthreads();
    if (row > j && row < args.width) {
      for (std::int32_t k = j + 1; k <= row; ++k) {
        square[row][k] = square[row][k] - square[row][j] * conjugate_of(square[k][j]);
      }
    }
  }
  __syncthreads();
  if (row == 0) info = failed == 0 ? 0 : static_cast<std::int32_t>(args.first) + failed;
  if (row < args.width) {
    for (std::int32_t k = 0; k <= row; ++k) a[row * args.n + k] = square[row][k];
  }
}

/// Divides the rows below the square by it, a row per thread.
template <class T>
__global__ void __launch_bounds__(kGridThreads) rows_kernel(const __grid_constant__ CholeskyArgs args) {
  __shared__ T square[kPanel][kPanel];
  const std::int64_t below = args.n - args.first - args.width;
  const std::int64_t parts = (below + kGridThreads - 1) / kGridThreads;
  const std::int64_t batch = blockIdx.x / parts;
  if (args.info[batch] != 0) return;
  T* const a = static_cast<T*>(args.a) + batch * args.n * args.n + args.first * (args.n + 1);
  for (auto i = static_cast<std::int32_t>(threadIdx.x); i < args.width * args.width; i += kGridThreads) {
    square[i / args.width][i % args.width] = a[i / args.width * args.n + i % args.width];
  }
  __syncthreads();
  const std::int64_t row = blockIdx.x % parts * kGridThreads + threadIdx.x;
  if (row >= below) return;
  T* const x = a + (args.width + row) * args.n;
  for (std::int32_t j = 0; j < args.width; ++j) {
    T sum = x[j];
    for (std::int32_t k = 0; k < j; ++k) sum = sum - x[k] * conjugate_of(square[j][k]);
    x[j] = times_real(sum, 1 / real_part(square[j][j]));
  }
}

template <class T>
__global__ void __launch_bounds__(kGridThreads) clear_kernel(T* a, std::int64_t n, std::int64_t elements) {
  for_each_element(elements, [&](std::int64_t i) {
    if (i % n > i / n % n) a[i] = real_number<T>(0);
  });
}

void cholesky(const Tensor& a, const Tensor& info, const char* op) {
  const DeviceGuard guard(a.device());
  const cudaStream_t stream = current_stream(a.device());
  const std::int64_t n = a.size(-1);
  const std::int64_t batches = a.numel() / (n * n);
  const auto blocks = static_cast<unsigned>(batches);
  CholeskyArgs args{a.raw_data(), static_cast<std::int32_t*>(info.raw_data()), n, 0, 0};
  visit_numbers(a.dtype(), [&]<class T>() {
    for (; args.first < n; args.first += kPanel) {
      args.width = static_cast<std::int32_t>(std::min<std::int64_t>(kPanel, n - args.first));
      launch(op, square_kernel<T>, blocks, kPanel, 0, stream, args);
      const std::int64_t next = args.first + args.width;
      const std::int64_t below = n - next;
      if (below == 0) break;
      const auto parts = static_cast<unsigned>((below + kGridThreads - 1) / kGridThreads);
      launch(op, rows_kernel<T>, blocks * parts, kGridThreads, 0, stream, args);
      UpdateArgs update{.a = part_of(a, next, args.first),
                        .b = part_of(a, next, args.first, true),
                        .c = part_of(a, next, next),
                        .m = below,
                        .n = below,
                        .k = args.width,
                        .batches = batches,
                        .info = args.info};
      update.b.conjugated = true;
      launch_update(update, a.dtype(), stream, op);
    }
    launch(op, clear_kernel<T>, grid_blocks(a.numel()), kGridThreads, 0, stream, static_cast<T*>(a.raw_data()), n,
           a.numel());
  });
}

[[maybe_unused]] const bool kCholeskyRegistered = register_kernel<&DeviceKernels::cholesky>(DeviceType::CUDA, cholesky);

}  // namespace
}  // namespace lamella::cuda
