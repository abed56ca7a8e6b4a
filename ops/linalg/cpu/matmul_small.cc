#include <algorithm>

#include "ops/cpu/tables/matmul.h"
#include "ops/simd/vec.h"

namespace lamella::cpu {
namespace {

using simd::Vec;

/// Computes kRows rows of c over one vector of columns.
template <class T, int kRows>
void multiply_strip(const MatmulArgs& args, const T* a, const T* b, T* c) {
  using V = Vec<T>;
  V sums[kRows];
  for (V& sum : sums) sum = V(0);
  for (std::int64_t i = 0; i < args.k; ++i) {
    const V row = V::load(b + i * args.b_row);
    for (int r = 0; r < kRows; ++r) sums[r] += V(a[r * args.a_row + i * args.a_column]) * row;
  }
  for (int r = 0; r < kRows; ++r) sums[r].store(c + r * args.c_row);
}

constexpr std::int64_t kPanelRows = 64;

/// Computes columns [0, width) of c, one panel of inner indices at a time. The part of b is copied, so that its rows
/// are contiguous and padded.
template <class T>
void multiply_columns(const MatmulArgs& args, const T* a, const T* b, T* c, std::int64_t width) {
  using V = Vec<T>;
  const std::int64_t padded = (width + V::size - 1) / V::size * V::size;
  T panel[kPanelRows * 4 * V::size];
  T sums[4 * V::size];
  for (std::int64_t first = 0; first < args.k; first += kPanelRows) {
    const std::int64_t inner = std::min(kPanelRows, args.k - first);
    for (std::int64_t i = 0; i < inner; ++i) {
      const T* from = b + (first + i) * args.b_row;
      T* to = panel + i * padded;
      for (std::int64_t j = 0; j < width; ++j) to[j] = from[j * args.b_column];
      for (std::int64_t j = width; j < padded; ++j) to[j] = 0;
    }
    for (std::int64_t r = 0; r < args.m; ++r) {
      const T* row = a + r * args.a_row + first * args.a_column;
      for (std::int64_t j = 0; j < padded; j += V::size) {
        V sum(0);
        for (std::int64_t i = 0; i < inner; ++i) sum += V(row[i * args.a_column]) * V::load(panel + i * padded + j);
        sum.store(sums + j);
      }
      T* to = c + r * args.c_row;
      if (first == 0) {
        for (std::int64_t j = 0; j < width; ++j) to[j] = sums[j];
      } else {
        for (std::int64_t j = 0; j < width; ++j) to[j] = static_cast<T>(to[j] + sums[j]);
      }
    }
  }
}

template <class T>
void multiply(const MatmulArgs& args) {
  using V = Vec<T>;
  const T* a = static_cast<const T*>(args.a);
  const T* b = static_cast<const T*>(args.b);
  T* c = static_cast<T*>(args.c);
  std::int64_t j = 0;
  if (args.b_column == 1) {
    for (; j + V::size <= args.n; j += V::size) {
      std::int64_t r = 0;
      for (; r + 4 <= args.m; r += 4) multiply_strip<T, 4>(args, a + r * args.a_row, b + j, c + r * args.c_row + j);
      for (; r < args.m; ++r) multiply_strip<T, 1>(args, a + r * args.a_row, b + j, c + r * args.c_row + j);
    }
  }
  for (; j < args.n; j += 4 * V::size) {
    multiply_columns<T>(args, a, b + j * args.b_column, c + j, std::min<std::int64_t>(4 * V::size, args.n - j));
  }
}

template <class... T>
void fill(MatmulKernels& kernels) {
  ((kernels.small[static_cast<std::size_t>(dtype_of<T>)] = multiply<T>), ...);
}

}  // namespace

void fill_matmul(MatmulKernels& kernels) {
  fill<float, double, std::int32_t, std::int64_t>(kernels);
  // Integers wrap around: sums and products have the same bits for signed and unsigned types.
  kernels.small[static_cast<std::size_t>(DType::UInt64)] = multiply<std::int64_t>;
  fill_matmul_complex(kernels);
  fill_matmul_eigen(kernels);
  fill_matmul_vector(kernels);
}

}  // namespace lamella::cpu
