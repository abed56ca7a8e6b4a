#include <algorithm>

#include "ops/cpu/tables/norm.h"

// Planes of few elements, processed as adjacent columns. The compiler vectorizes the loops over the columns of a row.

namespace lamella::cpu {
namespace {

constexpr std::int64_t kColumns = 256;  // columns whose numbers stay in the L1 cache
constexpr std::int64_t kTerms = 32;     // rows that are summed before the partial sum is added to a total in float64

template <class T>
void scale_shift(const T* x, const T* center, const T* scale, const T* shift, T* y, std::int64_t rows,
                 std::int64_t columns) {
  for (std::int64_t row = 0; row < rows; ++row) {
    const T* __restrict from = x + row * columns;
    T* __restrict to = y + row * columns;
    for (std::int64_t c = 0; c < columns; ++c) to[c] = (from[c] - center[c]) * scale[c] + shift[c];
  }
}

template <class T>
void dots(const T* x, const T* dy, const T* center, const T* rstd, T* sum, T* dot, std::int64_t rows,
          std::int64_t columns) {
  for (std::int64_t begin = 0; begin < columns; begin += kColumns) {
    const std::int64_t width = std::min(kColumns, columns - begin);
    double total_sums[kColumns] = {};
    double total_products[kColumns] = {};
    const T* __restrict middle = center + begin;
    const T* __restrict scale = rstd + begin;
    for (std::int64_t first = 0; first < rows; first += kTerms) {
      T sums[kColumns] = {};
      T products[kColumns] = {};
      for (std::int64_t row = first; row < std::min(rows, first + kTerms); ++row) {
        const T* __restrict from = x + row * columns + begin;
        const T* __restrict by = dy + row * columns + begin;
        for (std::int64_t c = 0; c < width; ++c) {
          sums[c] += by[c];
          products[c] += by[c] * ((from[c] - middle[c]) * scale[c]);
        }
      }
      for (std::int64_t c = 0; c < width; ++c) {
        total_sums[c] += static_cast<double>(sums[c]);
        total_products[c] += static_cast<double>(products[c]);
      }
    }
    for (std::int64_t c = 0; c < width; ++c) {
      sum[begin + c] = static_cast<T>(total_sums[c]);
      dot[begin + c] = static_cast<T>(total_products[c]);
    }
  }
}

template <class T>
void combine(const T* x, const T* center, const T* rstd, const T* dy, const T* a, const T* b, const T* c, T* dx,
             std::int64_t rows, std::int64_t columns) {
  for (std::int64_t row = 0; row < rows; ++row) {
    const T* __restrict from = x + row * columns;
    const T* __restrict by = dy + row * columns;
    T* __restrict to = dx + row * columns;
    for (std::int64_t k = 0; k < columns; ++k) to[k] = by[k] * a[k] + (from[k] - center[k]) * rstd[k] * b[k] + c[k];
  }
}

template <class T>
void fill(NormKernels<T>& kernels) {
  kernels.scale_shift_columns = scale_shift<T>;
  kernels.dots_of_columns = dots<T>;
  kernels.combine_columns = combine<T>;
}

}  // namespace

void fill_norm_columns(NormTable& table) {
  fill(table.float32);
  fill(table.float64);
}

}  // namespace lamella::cpu
