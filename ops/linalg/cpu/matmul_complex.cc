#include <algorithm>
#include <array>
#include <utility>

#include "ops/cpu/fused.h"
#include "ops/cpu/tables/matmul.h"
#include "ops/simd/vec.h"

// Products of complex matrices with interleaved parts. With b's numbers (re b, im b) as stored, the sums of (re a) b
// and of (im a) b are computed separately, and the parts of the second sum are exchanged at the end. That takes 4
// multiplications per complex one, without deinterleaving.

namespace lamella::cpu {
namespace {

using simd::Vec;

/// Number of rows whose sums fit into registers: there are 32 with AVX-512, and 16 otherwise.
constexpr int kMostRows = simd::kVectorBytes == 64 ? 6 : simd::kVectorBytes == 32 ? 3 : 2;
constexpr int kMostVectors = 2;
constexpr std::int64_t kPanelRows = 128;  // rows of a panel of b, which stays in the L1 cache

template <class V, std::size_t... I>
V pairs_exchanged(V x, std::index_sequence<I...>) {
  return __builtin_shufflevector(x, x, (static_cast<int>(I) ^ 1)...);
}

/// Returns -1 in lanes of real parts and 1 in lanes of imaginary parts.
template <class T>
Vec<T> signs() {
  T values[Vec<T>::size];
  for (int i = 0; i < Vec<T>::size; ++i) values[i] = i % 2 == 0 ? T(-1) : T(1);
  return Vec<T>::load(values);
}

/// A part of a product. Pointers and steps count real numbers.
template <class T>
struct Strip {
  const T* a = nullptr;
  std::int64_t a_row = 0;
  std::int64_t a_column = 0;
  const T* b = nullptr;
  std::int64_t b_row = 0;
  T* c = nullptr;
  std::int64_t c_row = 0;
  std::int64_t inner = 0;
  std::int64_t width = 0;  ///< lanes that are written
  bool adds = false;       ///< true if the sums are added to c
};

/// Computes kRows rows of c over kVectors vectors of columns.
template <class T, int kRows, int kVectors>
void multiply_strip(const Strip<T>& strip) {
  using V = Vec<T>;
  V by_real[kRows][kVectors];
  V by_imaginary[kRows][kVectors];
  T columns[kVectors * V::size] = {};
  const bool whole = strip.width == kVectors * V::size;
  for (int r = 0; r < kRows; ++r) {
    T* const c = strip.c + r * strip.c_row;
    if (strip.adds && !whole) std::copy_n(c, strip.width, columns);
    const T* const from = whole ? c : columns;
    for (int v = 0; v < kVectors; ++v) {
      by_real[r][v] = strip.adds ? V::load(from + v * V::size) : V(T(0));
      by_imaginary[r][v] = V(T(0));
    }
  }
  for (std::int64_t i = 0; i < strip.inner; ++i) {
    V b[kVectors];
    for (int v = 0; v < kVectors; ++v) b[v] = V::load(strip.b + i * strip.b_row + v * V::size);
    for (int r = 0; r < kRows; ++r) {
      const T* const a = strip.a + r * strip.a_row + i * strip.a_column;
      const V re(a[0]);
      const V im(a[1]);
      for (int v = 0; v < kVectors; ++v) {
        by_real[r][v] = multiply_add(re, b[v], by_real[r][v]);
        by_imaginary[r][v] = multiply_add(im, b[v], by_imaginary[r][v]);
      }
    }
  }
  const V sign = signs<T>();
  for (int r = 0; r < kRows; ++r) {
    T* const c = strip.c + r * strip.c_row;
    T* const to = whole ? c : columns;
    for (int v = 0; v < kVectors; ++v) {
      const V turned(pairs_exchanged(by_imaginary[r][v].native(), std::make_index_sequence<V::size>()));
      multiply_add(turned, sign, by_real[r][v]).store(to + v * V::size);
    }
    if (!whole) std::copy_n(columns, strip.width, c);
  }
}

template <class T>
using StripKernel = void (*)(const Strip<T>&);

/// Computes all rows of a panel of columns; `strip` is the first strip.
template <class T, int kVectors>
void multiply_panel(Strip<T> strip, std::int64_t rows) {
  static constexpr auto kKernels = []<int... I>(std::integer_sequence<int, I...>) {
    return std::array<StripKernel<T>, sizeof...(I)>{multiply_strip<T, I + 1, kVectors>...};
  }(std::make_integer_sequence<int, kMostRows>());
  for (std::int64_t row = 0; row < rows; row += kMostRows) {
    const std::int64_t count = std::min<std::int64_t>(kMostRows, rows - row);
    kKernels[static_cast<std::size_t>(count - 1)](strip);
    strip.a += count * strip.a_row;
    strip.c += count * strip.c_row;
  }
}

/// Copies rows of a part of b contiguously, padded with zeros.
template <class T>
void copy_panel(const T* from, std::int64_t row, std::int64_t column, std::int64_t rows, std::int64_t width,
                std::int64_t padded, T* to) {
  if (column == 2) {
    for (std::int64_t i = 0; i < rows; ++i, from += row, to += padded) {
      std::copy_n(from, width, to);
      std::fill(to + width, to + padded, T(0));
    }
    return;
  }
  for (std::int64_t j = 0; j < padded; j += 2) {
    const T* const numbers = from + j / 2 * column;
    for (std::int64_t i = 0; i < rows; ++i) {
      to[i * padded + j] = j < width ? numbers[i * row] : T(0);
      to[i * padded + j + 1] = j < width ? numbers[i * row + 1] : T(0);
    }
  }
}

template <class T>
void multiply(const MatmulArgs& args) {
  using V = Vec<T>;
  constexpr std::int64_t kPanel = kMostVectors * V::size;  // real numbers in a row of a panel
  alignas(64) T panel[kPanelRows * kPanel];
  const T* const b = static_cast<const T*>(args.b);
  for (std::int64_t first = 0; first < args.k; first += kPanelRows) {
    const std::int64_t inner = std::min(kPanelRows, args.k - first);
    for (std::int64_t column = 0; column < args.n; column += kPanel / 2) {
      const std::int64_t width = std::min(kPanel, 2 * (args.n - column));
      const std::int64_t padded = width <= V::size ? V::size : kPanel;
      const T* const from = b + 2 * (first * args.b_row + column * args.b_column);
      Strip<T> strip{.a = static_cast<const T*>(args.a) + 2 * first * args.a_column,
                     .a_row = 2 * args.a_row,
                     .a_column = 2 * args.a_column,
                     .b = from,
                     .b_row = 2 * args.b_row,
                     .c = static_cast<T*>(args.c) + 2 * column,
                     .c_row = 2 * args.c_row,
                     .inner = inner,
                     .width = width,
                     .adds = first > 0};
      // If b's layout is suitable, copying it pays from the second strip on.
      if (args.b_column != 1 || width < padded || args.m > kMostRows) {
        copy_panel(from, 2 * args.b_row, 2 * args.b_column, inner, width, padded, panel);
        strip.b = panel;
        strip.b_row = padded;
      }
      if (padded == V::size) {
        multiply_panel<T, 1>(strip, args.m);
      } else {
        multiply_panel<T, kMostVectors>(strip, args.m);
      }
    }
  }
}

}  // namespace

void fill_matmul_complex(MatmulKernels& kernels) {
  kernels.small[static_cast<std::size_t>(DType::Complex64)] = multiply<float>;
  kernels.small[static_cast<std::size_t>(DType::Complex128)] = multiply<double>;
}

}  // namespace lamella::cpu
