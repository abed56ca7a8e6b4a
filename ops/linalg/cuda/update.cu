#include "engine/runtime/cuda/launch.h"
#include "ops/linalg/cuda/number.h"
#include "ops/linalg/cuda/panels.h"

namespace lamella::cuda {
namespace {

constexpr int kTile = 32;
constexpr int kRows = 8;  // threads of a tile's column; each has kTile / kRows elements

template <class T>
__device__ T element_of(const MatrixPart& part, std::int64_t batch, std::int64_t row, std::int64_t column) {
  const T* const data = static_cast<const T*>(part.data);
  return conjugate_if(data[batch * part.batch + row * part.row + column * part.column], part.conjugated);
}

/// Updates a tile of c, [kTile, kTile], per block.
template <class T>
__global__ void __launch_bounds__(kTile* kRows) update_kernel(const __grid_constant__ UpdateArgs args) {
  __shared__ T left[kTile][kPanel + 1];
  __shared__ T right[kPanel][kTile + 1];
  const std::int64_t across = (args.n + kTile - 1) / kTile;
  const std::int64_t down = (args.m + kTile - 1) / kTile;
  const std::int64_t batch = blockIdx.x / (across * down);
  const std::int64_t tile = blockIdx.x % (across * down);
  const std::int64_t row = tile / across * kTile;
  const std::int64_t column = tile % across * kTile;
  const auto x = static_cast<int>(threadIdx.x);
  const auto y = static_cast<int>(threadIdx.y);
  if (args.info && args.info[batch] != 0) return;
  for (int i = y; i < kTile; i += kRows) {
    const bool is_left = row + i < args.m && x < args.k;
    left[i][x] = is_left ? element_of<T>(args.a, batch, row + i, x) : real_number<T>(0);
    const bool is_right = i < args.k && column + x < args.n;
    right[i][x] = is_right ? element_of<T>(args.b, batch, i, column + x) : real_number<T>(0);
  }
  __syncthreads();
  T* const to = static_cast<T*>(args.c.data) + batch * args.c.batch;
  for (int i = y; i < kTile; i += kRows) {
    if (row + i >= args.m || column + x >= args.n) continue;
    T sum = real_number<T>(0);
#pragma unroll
    for (int k = 0; k < kPanel; ++k) sum = sum + left[i][k] * right[k][x];
    T& element = to[(row + i) * args.c.row + (column + x) * args.c.column];
    element = element - sum;
  }
}

}  // namespace

void launch_update(const UpdateArgs& args, DType dtype, cudaStream_t stream, const char* op) {
  if (args.m <= 0 || args.n <= 0) return;
  const std::int64_t tiles = (args.n + kTile - 1) / kTile * ((args.m + kTile - 1) / kTile);
  visit_numbers(dtype, [&]<class T>() {
    launch(op, update_kernel<T>, static_cast<unsigned>(tiles * args.batches), dim3(kTile, kRows), 0, stream, args);
  });
}

MatrixPart part_of(const Tensor& x, std::int64_t row, std::int64_t column, bool transposed) {
  const std::int64_t columns = x.size(-1);
  const auto item = static_cast<std::int64_t>(item_size(x.dtype()));
  MatrixPart part{static_cast<char*>(x.raw_data()) + (row * columns + column) * item, x.size(-2) * columns, columns, 1};
  if (transposed) std::swap(part.row, part.column);
  return part;
}

}  // namespace lamella::cuda
