#include <algorithm>

#include "engine/runtime/cuda/device_guard.h"
#include "engine/runtime/cuda/launch.h"
#include "engine/runtime/cuda/stream.h"
#include "ops/linalg/cuda/number.h"
#include "ops/linalg/cuda/panels.h"
#include "ops/linalg/matrices.h"
#include "ops/support/device_kernels.h"

// Substitution by squares at the diagonal: each is solved for all columns, and its product with the others subtracted
// from their rows.

namespace lamella::cuda {
namespace {

constexpr int kThreads = 128;

struct TriangleArgs {
  MatrixPart square;  // at the diagonal, transposed for the adjoint
  void* b;
  std::int64_t n;
  std::int64_t columns;
  std::int64_t first;
  std::int32_t width;
  bool lower;
  bool unit_diagonal;
};

/// Solves with the square, a column of b per thread.
template <class T>
__global__ void __launch_bounds__(kThreads) square_kernel(const __grid_constant__ TriangleArgs args) {
  __shared__ T square[kPanel][kPanel + 1];
  const std::int64_t parts = (args.columns + kThreads - 1) / kThreads;
  const std::int64_t batch = blockIdx.x / parts;
  const T* const a = static_cast<const T*>(args.square.data) + batch * args.square.batch;
  for (auto i = static_cast<std::int32_t>(threadIdx.x); i < args.width * args.width; i += kThreads) {
    const std::int32_t row = i / args.width;
    const std::int32_t column = i % args.width;
    // The other triangle is not read: there may be anything.
    if (args.lower ? column > row : column < row) continue;
    square[row][column] = conjugate_if(a[row * args.square.row + column * args.square.column], args.square.conjugated);
  }
  __syncthreads();
  const std::int64_t column = blockIdx.x % parts * kThreads + threadIdx.x;
  if (column >= args.columns) return;
  T* const x = static_cast<T*>(args.b) + (batch * args.n + args.first) * args.columns + column;
  for (std::int32_t step = 0; step < args.width; ++step) {
    const std::int32_t i = args.lower ? step : args.width - 1 - step;
    T sum = x[i * args.columns];
    for (std::int32_t k = args.lower ? 0 : i + 1; k < (args.lower ? i : args.width); ++k) {
      sum = sum - square[i][k] * x[k * args.columns];
    }
    x[i * args.columns] = args.unit_diagonal ? sum : quotient(sum, square[i][i]);
  }
}

void solve_triangle(const Tensor& a, const Tensor& b, const linalg::Triangle& triangle, const char* op) {
  const DeviceGuard guard(b.device());
  const cudaStream_t stream = current_stream(b.device());
  const std::int64_t n = b.size(-2);
  const std::int64_t columns = b.size(-1);
  const std::int64_t batches = b.numel() / (n * columns);
  const auto part = [&](std::int64_t row, std::int64_t column) {
    MatrixPart result = triangle.adjoint ? part_of(a, column, row, true) : part_of(a, row, column);
    result.conjugated = triangle.adjoint;
    return result;
  };
  TriangleArgs args{.square = {},
                    .b = b.raw_data(),
                    .n = n,
                    .columns = columns,
                    .first = 0,
                    .width = 0,
                    .lower = triangle.upper == triangle.adjoint,
                    .unit_diagonal = triangle.unit_diagonal};
  const auto blocks = static_cast<unsigned>((columns + kThreads - 1) / kThreads * batches);
  for (std::int64_t done = 0; done < n; done += args.width) {
    args.width = static_cast<std::int32_t>(std::min<std::int64_t>(kPanel, n - done));
    args.first = args.lower ? done : n - done - args.width;
    args.square = part(args.first, args.first);
    visit_numbers(b.dtype(), [&]<class T>() { launch(op, square_kernel<T>, blocks, kThreads, 0, stream, args); });
    const std::int64_t rest = args.lower ? args.first + args.width : 0;
    launch_update({.a = part(rest, args.first),
                   .b = part_of(b, args.first, 0),
                   .c = part_of(b, rest, 0),
                   .m = n - done - args.width,
                   .n = columns,
                   .k = args.width,
                   .batches = batches},
                  b.dtype(), stream, op);
  }
}

[[maybe_unused]] const bool kTrianglesRegistered =
    register_kernel<&DeviceKernels::solve_triangle>(DeviceType::CUDA, solve_triangle);

}  // namespace
}  // namespace lamella::cuda
