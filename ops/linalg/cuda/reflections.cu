#include <algorithm>

#include "engine/runtime/cuda/device_guard.h"
#include "engine/runtime/cuda/launch.h"
#include "engine/runtime/cuda/stream.h"
#include "ops/linalg/cuda/number.h"
#include "ops/linalg/cuda/panels.h"
#include "ops/support/device_kernels.h"

// Householder reflections 1 - tau v v^H, as LAPACK stores them. A block has kPanel columns, and a thread every
// kLanes-th row of one: neighboring threads read neighboring columns of a row.

namespace lamella::cuda {
namespace {

constexpr std::int32_t kLanes = 8;

struct ReflectArgs {
  const void* a;  // the first vector's diagonal element
  std::int64_t a_batch;
  std::int64_t a_row;
  const void* tau;
  std::int64_t tau_batch;
  void* c;
  std::int64_t c_batch;
  std::int64_t c_row;
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t steps;
  bool adjoint;
};

/// Returns the sum over the lanes of a column, to each of them.
template <class T>
__device__ T sum_of_lanes(T (&shared)[kLanes][kPanel], T mine, std::int32_t column, std::int32_t lane) {
  __syncthreads();  // an earlier sum has been read by now
  shared[lane][column] = mine;
  __syncthreads();
  T sum = shared[0][column];
#pragma unroll
  for (std::int32_t i = 1; i < kLanes; ++i) sum = sum + shared[i][column];
  return sum;
}

/// Applies reflection j to a column of c, whose rows are `row` apart; v is the column of vectors.
template <class T>
__device__ void reflect_column(const T* v, std::int64_t v_row, T tau, T* c, std::int64_t row, std::int64_t j,
                               std::int64_t rows, bool exists, std::int32_t column, std::int32_t lane,
                               T (&shared)[kLanes][kPanel]) {
  // Rows belong to the same lane in every step.
  const std::int64_t first = j / kLanes * kLanes + lane;
  T sum = real_number<T>(0);
  for (std::int64_t i = first; i < rows && exists; i += kLanes) {
    if (i > j) sum = sum + conjugate_of(v[i * v_row]) * c[i * row];
    if (i == j) sum = sum + c[i * row];
  }
  sum = tau * sum_of_lanes(shared, sum, column, lane);
  for (std::int64_t i = first; i < rows && exists; i += kLanes) {
    if (i > j) c[i * row] = c[i * row] - v[i * v_row] * sum;
    if (i == j) c[i * row] = c[i * row] - sum;
  }
}

template <class T>
__global__ void __launch_bounds__(kPanel* kLanes) reflect_kernel(const __grid_constant__ ReflectArgs args) {
  __shared__ T shared[kLanes][kPanel];
  const std::int64_t parts = (args.columns + kPanel - 1) / kPanel;
  const std::int64_t batch = blockIdx.x / parts;
  const auto x = static_cast<std::int32_t>(threadIdx.x);
  const auto lane = static_cast<std::int32_t>(threadIdx.y);
  const std::int64_t column = blockIdx.x % parts * kPanel + x;
  const T* const a = static_cast<const T*>(args.a) + batch * args.a_batch;
  const T* const tau = static_cast<const T*>(args.tau) + batch * args.tau_batch;
  T* const c = static_cast<T*>(args.c) + batch * args.c_batch + column;
  for (std::int64_t step = 0; step < args.steps; ++step) {
    const std::int64_t j = args.adjoint ? step : args.steps - 1 - step;
    reflect_column(a + j, args.a_row, conjugate_if(tau[j], args.adjoint), c, args.c_row, j, args.rows,
                   column < args.columns, x, lane, shared);
  }
}

struct PanelArgs {
  void* a;
  void* tau;
  std::int64_t m;
  std::int64_t n;
  std::int64_t steps;
  std::int64_t first;
  std::int32_t width;
};

/// Returns combine over the block's threads, to each of them.
template <class Combine>
__device__ double combined(double (&shared)[kPanel * kLanes], double mine, std::int32_t thread, Combine combine) {
  __syncthreads();
  shared[thread] = mine;
  for (std::int32_t half = kPanel * kLanes / 2; half > 0; half /= 2) {
    __syncthreads();
    if (thread < half) shared[thread] = combine(shared[thread], shared[thread + half]);
  }
  __syncthreads();
  return shared[0];
}

/// Makes the reflections of a panel's columns, one panel per block (LAPACK's larfg).
template <class T>
__global__ void __launch_bounds__(kPanel* kLanes) panel_kernel(const __grid_constant__ PanelArgs args) {
  __shared__ T shared[kLanes][kPanel];
  __shared__ double numbers[kPanel * kLanes];
  constexpr std::int32_t kThreads = kPanel * kLanes;
  const auto x = static_cast<std::int32_t>(threadIdx.x);
  const auto lane = static_cast<std::int32_t>(threadIdx.y);
  const std::int32_t thread = lane * kPanel + x;
  T* const a = static_cast<T*>(args.a) + blockIdx.x * args.m * args.n + args.first * (args.n + 1);
  T* const factors = static_cast<T*>(args.tau) + blockIdx.x * args.steps + args.first;
  const std::int64_t rows = args.m - args.first;
  for (std::int32_t j = 0; j < args.width; ++j) {
    T* const v = a + j;
    double largest = 0;
    for (std::int64_t i = j + 1 + thread; i < rows; i += kThreads)
      largest = max(largest, double{size_of(v[i * args.n])});
    largest = combined(numbers, largest, thread, [](double one, double other) { return max(one, other); });
    double squares = 0;
    if (largest > 0) {
      for (std::int64_t i = j + 1 + thread; i < rows; i += kThreads) {
        const double real = real_part(v[i * args.n]) / largest;
        const double imaginary = imaginary_part(v[i * args.n]) / largest;
        squares += real * real + imaginary * imaginary;
      }
    }
    squares = combined(numbers, squares, thread, [](double one, double other) { return one + other; });
    const double norm = largest * sqrt(squares);
    const T alpha = v[j * args.n];
    const double real = real_part(alpha);
    const double imaginary = imaginary_part(alpha);
    __syncthreads();
    T tau = real_number<T>(0);
    if (norm != 0 || imaginary != 0) {
      const double beta = -copysign(hypot(hypot(real, imaginary), norm), real);
      const T diagonal = real_number<T>(static_cast<PartOf<T>>(beta));
      if constexpr (std::is_floating_point_v<T>) {
        tau = static_cast<T>((beta - real) / beta);
      } else {
        tau = {static_cast<PartOf<T>>((beta - real) / beta), static_cast<PartOf<T>>(-imaginary / beta)};
      }
      const T divisor = alpha - diagonal;
      for (std::int64_t i = j + 1 + thread; i < rows; i += kThreads) v[i * args.n] = quotient(v[i * args.n], divisor);
      if (thread == 0) v[j * args.n] = diagonal;
    }
    if (thread == 0) factors[j] = tau;
    __syncthreads();
    reflect_column<T>(v, args.n, conjugate_of(tau), a + x, args.n, j, rows, x > j && x < args.width, x, lane, shared);
    __syncthreads();
  }
}

template <class T>
T* element_of(const Tensor& x, std::int64_t at) {
  return static_cast<T*>(x.raw_data()) + at;
}

void launch_reflect(const ReflectArgs& args, std::int64_t batches, DType dtype, cudaStream_t stream, const char* op) {
  const std::int64_t parts = (args.columns + kPanel - 1) / kPanel;
  visit_numbers(dtype, [&]<class T>() {
    launch(op, reflect_kernel<T>, static_cast<unsigned>(parts * batches), dim3(kPanel, kLanes), 0, stream, args);
  });
}

void reflections(const Tensor& a, const Tensor& tau, const char* op) {
  const DeviceGuard guard(a.device());
  const cudaStream_t stream = current_stream(a.device());
  const std::int64_t m = a.size(-2);
  const std::int64_t n = a.size(-1);
  const std::int64_t batches = a.numel() / (m * n);
  PanelArgs args{a.raw_data(), tau.raw_data(), m, n, std::min(m, n), 0, 0};
  visit_numbers(a.dtype(), [&]<class T>() {
    for (; args.first < args.steps; args.first += kPanel) {
      args.width = static_cast<std::int32_t>(std::min<std::int64_t>(kPanel, args.steps - args.first));
      launch(op, panel_kernel<T>, static_cast<unsigned>(batches), dim3(kPanel, kLanes), 0, stream, args);
      const std::int64_t next = args.first + args.width;
      if (next == n) continue;
      launch_reflect({.a = element_of<T>(a, args.first * (n + 1)),
                      .a_batch = m * n,
                      .a_row = n,
                      .tau = element_of<T>(tau, args.first),
                      .tau_batch = args.steps,
                      .c = element_of<T>(a, args.first * n + next),
                      .c_batch = m * n,
                      .c_row = n,
                      .rows = m - args.first,
                      .columns = n - next,
                      .steps = args.width,
                      .adjoint = true},
                     batches, a.dtype(), stream, op);
    }
  });
}

void reflect(const Tensor& a, const Tensor& tau, const Tensor& c, bool adjoint, const char* op) {
  const DeviceGuard guard(c.device());
  const std::int64_t m = c.size(-2);
  const std::int64_t columns = c.size(-1);
  launch_reflect({.a = a.raw_data(),
                  .a_batch = m * a.size(-1),
                  .a_row = a.size(-1),
                  .tau = tau.raw_data(),
                  .tau_batch = tau.size(-1),
                  .c = c.raw_data(),
                  .c_batch = m * columns,
                  .c_row = columns,
                  .rows = m,
                  .columns = columns,
                  .steps = tau.size(-1),
                  .adjoint = adjoint},
                 c.numel() / (m * columns), c.dtype(), current_stream(c.device()), op);
}

[[maybe_unused]] const bool kReflectionsRegistered =
    register_kernel<&DeviceKernels::reflections>(DeviceType::CUDA, reflections) &&
    register_kernel<&DeviceKernels::reflect>(DeviceType::CUDA, reflect);

}  // namespace
}  // namespace lamella::cuda
