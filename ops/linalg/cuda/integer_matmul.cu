#include "engine/runtime/cuda/launch.h"
#include "ops/linalg/cuda/matmul.h"
#include "ops/simd/integer.h"

namespace lamella::cuda {
namespace {

constexpr int kThreads = 256;

/// Computes one element of c per thread.
template <class T>
__global__ void __launch_bounds__(kThreads) multiply(const __grid_constant__ IntegerMatmul args) {
  const std::int64_t size = args.m * args.n;
  const std::int64_t elements = size * args.batches;
  const std::int64_t threads = std::int64_t{gridDim.x} * kThreads;
  for (std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; i < elements; i += threads) {
    const std::int64_t batch = i / size;
    const T* a = reinterpret_cast<const T*>(args.a) + batch * args.a_batch + i % size / args.n * args.a_row;
    const T* b = reinterpret_cast<const T*>(args.b) + batch * args.b_batch + i % args.n * args.b_column;
    T sum = 0;
    for (std::int64_t j = 0; j < args.k; ++j) {
      sum = simd::wrapping_add(sum, simd::wrapping_multiply(a[j * args.a_column], b[j * args.b_row]));
    }
    reinterpret_cast<T*>(args.c)[batch * args.c_batch + i % size] = sum;
  }
}

}  // namespace

void launch_integer_matmul(const IntegerMatmul& args, DType dtype, cudaStream_t stream) {
  constexpr std::int64_t kMaxBlocks = 65536;
  const std::int64_t blocks = (args.m * args.n * args.batches + kThreads - 1) / kThreads;
  const auto grid = static_cast<unsigned>(blocks < kMaxBlocks ? blocks : kMaxBlocks);
  if (dtype == DType::Int32) {
    launch("matmul", multiply<std::int32_t>, grid, kThreads, 0, stream, args);
  } else {
    launch("matmul", multiply<std::int64_t>, grid, kThreads, 0, stream, args);
  }
}

}  // namespace lamella::cuda
