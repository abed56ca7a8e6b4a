#pragma once

#include <algorithm>
#include <complex>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "ops/cpu/reduce_table.h"
#include "ops/cpu/widen.h"
#include "ops/movement/convert.h"
#include "ops/simd/vec.h"

// Sums are pairwise: halves are added, down to blocks, so that the rounding error grows with the logarithm of the
// length. All other reductions go the same way. Where an array is cut depends on its length alone.
//
// An Op<T> names the type of its results, `Acc`, with `identity()`, `combine(a, b)` for results and, where registers
// hold elements and results alike, for vectors of them, and `lift(x)`, an element as a result.

namespace lamella::cpu {
inline namespace LM_SIMD_ISA {

using simd::Vec;

constexpr std::int64_t kStridedBlock = 64;    // the same of elements apart
constexpr std::int64_t kReduceColumns = 512;  // columns that are reduced at once
constexpr int kAccumulators = 4;
/// Contiguous elements that are reduced at once: each lane of float is a chain of 64.
constexpr std::int64_t kReduceBlock = std::int64_t{64} * kAccumulators * Vec<float>::size;

/// Registers hold elements and partial results alike.
template <template <class> class Op, class T>
inline constexpr bool kInVectors = std::is_same_v<T, typename Op<T>::Acc> && !std::is_same_v<T, bool> && !kIsComplex<T>;

template <int kBy, class V, std::size_t... I>
V rotated(V v, std::index_sequence<I...>) {
  constexpr int kLanes = sizeof...(I);
  return __builtin_shufflevector(v, v, (static_cast<int>(I) + kBy) % kLanes...);
}

/// The lanes of a vector, combined pairwise until kKept are left, in front.
template <class Op, int kKept, class T, int kWidth = Vec<T>::size / 2>
Vec<T> folded(Vec<T> v) {
  if constexpr (kWidth >= kKept) {
    const Vec<T> other(rotated<kWidth>(v.native(), std::make_index_sequence<Vec<T>::size>()));
    return folded<Op, kKept, T, kWidth / 2>(Op::combine(v, other));
  } else {
    return v;
  }
}
template <class Op, int kKept, class T>
void fold_lanes(Vec<T> v, T* kept) {
  T lanes[Vec<T>::size];
  folded<Op, kKept>(v).store(lanes);
  std::copy_n(lanes, kKept, kept);
}

/// Full steps of vectors at the start of x; returns how many elements were taken, 0 where there is no full step, and
/// leaves kKept partial results.
template <class Op, int kKept, class T>
std::int64_t reduce_vectors(const T* x, std::int64_t n, T* kept) {
  using V = Vec<T>;
  constexpr std::int64_t kStep = kAccumulators * V::size;
  if (n < kStep) return 0;
  V parts[kAccumulators];
  for (int k = 0; k < kAccumulators; ++k) parts[k] = V::load(x + k * V::size);
  std::int64_t i = kStep;
  for (; i + kStep <= n; i += kStep) {
    for (int k = 0; k < kAccumulators; ++k) parts[k] = Op::combine(parts[k], V::load(x + i + k * V::size));
  }
  fold_lanes<Op, kKept>(Op::combine(Op::combine(parts[0], parts[1]), Op::combine(parts[2], parts[3])), kept);
  return i;
}

/// A short contiguous row.
template <template <class> class Op, class T>
typename Op<T>::Acc reduce_block(const T* x, std::int64_t n) {
  if constexpr (kIsHalf<T> && std::is_same_v<typename Op<T>::Acc, float>) {
    float values[kReduceBlock];
    widen(x, n, values);
    return reduce_block<Op, float>(values, n);
  } else {
    typename Op<T>::Acc result = Op<T>::identity();
    std::int64_t i = 0;
    if constexpr (kInVectors<Op, T>) {
      T part;
      i = reduce_vectors<Op<T>, 1>(x, n, &part);
      if (i > 0) result = part;
    } else if constexpr (requires { typename Op<T>::Parts; }) {  // complex numbers of which the parts are added
      using Part = typename T::value_type;
      Part parts[2];
      i = reduce_vectors<typename Op<T>::Parts, 2>(reinterpret_cast<const Part*>(x), 2 * n, parts);
      if (i > 0) result = {parts[0], parts[1]};
      i /= 2;
    }
    for (; i < n; ++i) result = Op<T>::combine(result, Op<T>::lift(x[i]));
    return result;
  }
}

template <template <class> class Op, class T>
typename Op<T>::Acc reduce_strided_block(const T* x, std::int64_t step, std::int64_t n) {
  using Acc = typename Op<T>::Acc;
  std::int64_t i = 1;
  Acc result = Op<T>::lift(x[0]);
  if (n >= 2 * kAccumulators) {
    // Several chains, as one waits for each of its steps.
    Acc parts[kAccumulators];
    for (int k = 0; k < kAccumulators; ++k) parts[k] = Op<T>::lift(x[k * step]);
    for (i = kAccumulators; i + kAccumulators <= n; i += kAccumulators) {
      for (int k = 0; k < kAccumulators; ++k) parts[k] = Op<T>::combine(parts[k], Op<T>::lift(x[(i + k) * step]));
    }
    result = Op<T>::combine(Op<T>::combine(parts[0], parts[1]), Op<T>::combine(parts[2], parts[3]));
  }
  for (; i < n; ++i) result = Op<T>::combine(result, Op<T>::lift(x[i * step]));
  return result;
}

template <template <class> class Op, class T>
typename Op<T>::Acc reduce_pairwise(const T* x, std::int64_t step, std::int64_t n) {
  if (step == 1 && n <= kReduceBlock) return reduce_block<Op, T>(x, n);
  if (step != 1 && n <= kStridedBlock) return reduce_strided_block<Op, T>(x, step, n);
  const std::int64_t block = step == 1 ? kReduceBlock : kStridedBlock;
  const std::int64_t half = (n / 2 + block - 1) / block * block;
  return Op<T>::combine(reduce_pairwise<Op, T>(x, step, half), reduce_pairwise<Op, T>(x + half * step, step, n - half));
}

template <template <class> class Op, class T>
void reduce_row(const void* x, std::int64_t step, std::int64_t n, void* out) {
  *static_cast<typename Op<T>::Acc*>(out) = reduce_pairwise<Op, T>(static_cast<const T*>(x), step, n);
}

/// Vector columns [c, c + kWidth * size) of a few rows.
template <template <class> class Op, int kWidth, class T>
void reduce_column_vectors(const T* x, std::int64_t step, std::int64_t n, T* out) {
  using V = Vec<T>;
  V sums[kWidth];
  for (int k = 0; k < kWidth; ++k) sums[k] = V::load(x + k * V::size);
  for (std::int64_t r = 1; r < n; ++r) {
    for (int k = 0; k < kWidth; ++k) sums[k] = Op<T>::combine(sums[k], V::load(x + r * step + k * V::size));
  }
  for (int k = 0; k < kWidth; ++k) sums[k].store(out + k * V::size);
}

/// Rows one after the other, each kColumns long: several in a vector.
template <template <class> class Op, int kColumns, class T>
void reduce_narrow_rows(const T* x, std::int64_t n, T* out) {
  const std::int64_t taken = reduce_vectors<Op<T>, kColumns>(x, n * kColumns, out);
  std::int64_t r = taken / kColumns;
  if (r == 0) {
    for (int k = 0; k < kColumns; ++k) out[k] = x[k];
    r = 1;
  }
  for (; r < n; ++r) {
    for (int k = 0; k < kColumns; ++k) out[k] = Op<T>::combine(out[k], x[r * kColumns + k]);
  }
}

/// Whether several rows of so many columns fit into a vector.
template <class T>
constexpr bool is_narrow(std::int64_t columns) {
  return columns < Vec<T>::size && (columns == 2 || columns == 4 || columns == 8);
}

/// The same for any number of columns that is_narrow(); false for others.
template <template <class> class Op, class T>
bool reduced_narrow_rows(const T* x, std::int64_t n, std::int64_t columns, T* out) {
  const auto try_width = [&]<int kColumns>(std::integral_constant<int, kColumns>) {
    if constexpr (kColumns < Vec<T>::size) {
      if (columns == kColumns) reduce_narrow_rows<Op, kColumns>(x, n, out);
      return columns == kColumns;
    }
    return false;
  };
  return try_width(std::integral_constant<int, 2>()) || try_width(std::integral_constant<int, 4>()) ||
         try_width(std::integral_constant<int, 8>());
}

template <template <class> class Op, class T>
void reduce_few_rows(const T* x, std::int64_t step, std::int64_t n, std::int64_t columns, typename Op<T>::Acc* out) {
  if constexpr (kIsHalf<T> && std::is_same_v<typename Op<T>::Acc, float>) {
    widen(x, columns, out);
    for (std::int64_t r = 1; r < n; ++r) {
      float row[kReduceColumns];
      widen(x + r * step, columns, row);
      for (std::int64_t k = 0; k < columns; ++k) out[k] = Op<float>::combine(out[k], row[k]);
    }
  } else {
    std::int64_t c = 0;
    if constexpr (kInVectors<Op, T>) {
      if (step == columns && reduced_narrow_rows<Op>(x, n, columns, out)) return;
      constexpr std::int64_t kSize = Vec<T>::size;
      for (; c + 4 * kSize <= columns; c += 4 * kSize) reduce_column_vectors<Op, 4>(x + c, step, n, out + c);
      for (; c + kSize <= columns; c += kSize) reduce_column_vectors<Op, 1>(x + c, step, n, out + c);
    }
    if (c == columns) return;
    for (std::int64_t k = c; k < columns; ++k) out[k] = Op<T>::lift(x[k]);
    for (std::int64_t r = 1; r < n; ++r) {
      const T* row = x + r * step;
      for (std::int64_t k = c; k < columns; ++k) out[k] = Op<T>::combine(out[k], Op<T>::lift(row[k]));
    }
  }
}

template <template <class> class Op, class T>
void reduce_columns_pairwise(const T* x, std::int64_t step, std::int64_t n, std::int64_t columns,
                             typename Op<T>::Acc* out) {
  // As many more where several fit into a vector as leave the chains of additions as long.
  constexpr std::int64_t kRows = 32;
  bool narrow = false;
  if constexpr (kInVectors<Op, T>) narrow = step == columns && is_narrow<T>(columns);
  const std::int64_t rows_at_once = narrow ? 16 * kRows : kRows;
  if (n <= rows_at_once) {
    reduce_few_rows<Op, T>(x, step, n, columns, out);
    return;
  }
  const std::int64_t half = (n / 2 + rows_at_once - 1) / rows_at_once * rows_at_once;
  typename Op<T>::Acc rest[kReduceColumns];
  reduce_columns_pairwise<Op, T>(x, step, half, columns, out);
  reduce_columns_pairwise<Op, T>(x + half * step, step, n - half, columns, rest);
  for (std::int64_t k = 0; k < columns; ++k) out[k] = Op<T>::combine(out[k], rest[k]);
}

template <template <class> class Op, class T>
void reduce_columns(const void* x, std::int64_t step, std::int64_t n, std::int64_t columns, void* out) {
  const auto* in = static_cast<const T*>(x);
  auto* to = static_cast<typename Op<T>::Acc*>(out);
  for (std::int64_t c = 0; c < columns; c += kReduceColumns) {
    reduce_columns_pairwise<Op, T>(in + c, step, n, std::min(kReduceColumns, columns - c), to + c);
  }
}

/// Sets the kernels of a reduction for elements of `dtype`, which are stored as T.
template <template <class> class Op, class T>
void set_reduction(ReduceKernels& kernels, Reduction reduction, DType dtype = dtype_of<T>) {
  const auto row = static_cast<std::size_t>(reduction);
  kernels.row[row][static_cast<std::size_t>(dtype)] = reduce_row<Op, T>;
  kernels.columns[row][static_cast<std::size_t>(dtype)] = reduce_columns<Op, T>;
}
template <template <class> class Op, class... T>
void set_reductions(ReduceKernels& kernels, Reduction reduction) {
  (set_reduction<Op, T>(kernels, reduction), ...);
}

}  // namespace LM_SIMD_ISA
}  // namespace lamella::cpu
