#pragma once

#include <algorithm>
#include <complex>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "ops/cpu/pairs.h"
#include "ops/cpu/tables/reduce.h"
#include "ops/cpu/tile.h"
#include "ops/reduce/cpu/widen.h"
#include "ops/simd/convert.h"
#include "ops/simd/vec.h"

// Sums are pairwise: halves are added, down to blocks, so that the rounding error grows with the logarithm of the
// length. All other reductions use the same loops. Where an array is split depends on its length alone.
//
// An Op<T> defines the type of its results, `Acc`, `identity()`, `combine(a, b)` of two results and `lift(x)`, which
// turns an element into a result, and may depend on the op's `state`. If registers hold elements and results alike,
// `combine` also takes vectors; so does `lift` of an op that changes elements. `kRepeats` says that an element may be
// taken twice.

namespace lamella::cpu {
inline namespace LM_SIMD_ISA {

using simd::Vec;

/// The sum, as an operation of reduce_vectors().
struct Added {
  template <class X>
  static X combine(X a, X b) {
    return a + b;
  }
};

constexpr std::int64_t kStridedBlock = 64;    // elements per block if they are not contiguous
constexpr std::int64_t kReduceColumns = 512;  // columns that are reduced at once
constexpr int kAccumulators = 4;
/// Number of contiguous elements per block: each lane of float sums a chain of 64.
constexpr std::int64_t kReduceBlock = std::int64_t{64} * kAccumulators * Vec<float>::size;

/// True if vectors hold elements and partial results alike.
template <template <class> class Op, class T>
inline constexpr bool kInVectors = std::is_same_v<T, typename Op<T>::Acc> && !std::is_same_v<T, bool> && !kIsComplex<T>;

template <int kBy, class V, std::size_t... I>
V rotated(V v, std::index_sequence<I...>) {
  constexpr int kLanes = sizeof...(I);
  return __builtin_shufflevector(v, v, (static_cast<int>(I) + kBy) % kLanes...);
}

/// Combines the lanes of a vector pairwise until kKept partial results are left, in the first lanes.
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

/// True if elements are widened to float when they are loaded into vectors.
template <template <class> class Op, class T>
inline constexpr bool kWidens = kIsHalf<T> && std::is_same_v<typename Op<T>::Acc, float> && kLoadsWide<T>;

/// Returns the op for elements that were converted to float.
template <template <class> class Op, class T>
Op<float> for_float(const Op<T>& op) {
  if constexpr (requires { op.state; }) {
    return {.state = op.state};
  } else {
    return {};
  }
}

/// Loads a vector of contiguous elements as results.
template <template <class> class Op, class T>
Vec<typename Op<T>::Acc> load_lifted(const Op<T>& op, const T* x) {
  using Acc = typename Op<T>::Acc;
  const auto elements = [&] {
    if constexpr (kWidens<Op, T>) {
      return load_wide(x);
    } else {
      return Vec<Acc>::load(x);
    }
  }();
  if constexpr (requires { op.lift(elements); }) {
    return op.lift(elements);
  } else {
    return elements;
  }
}

template <class Op>
inline constexpr bool kTakesTwice = requires { requires Op::kRepeats; };

/// Combines the leading whole vectors of a row of n elements, at least one vector; load(i) returns the vector from
/// element i on. `taken` becomes the number of elements combined.
template <class Op, class T, class Load>
Vec<T> combined_vectors(std::int64_t n, std::int64_t& taken, Load&& load) {
  using V = Vec<T>;
  constexpr std::int64_t kStep = kAccumulators * V::size;
  V total;
  std::int64_t i = 0;
  if (n >= kStep) {
    V parts[kAccumulators];
    for (int k = 0; k < kAccumulators; ++k) parts[k] = load(k * V::size);
    for (i = kStep; i + kStep <= n; i += kStep) {
      for (int k = 0; k < kAccumulators; ++k) parts[k] = Op::combine(parts[k], load(i + k * V::size));
    }
    total = Op::combine(Op::combine(parts[0], parts[1]), Op::combine(parts[2], parts[3]));
  } else {
    total = load(0);
    i = V::size;
  }
  for (; i + V::size <= n; i += V::size) total = Op::combine(total, load(i));
  if constexpr (kTakesTwice<Op>) {
    if (i < n) total = Op::combine(total, load(n - V::size));
    i = n;
  }
  taken = i;
  return total;
}

/// Combines the leading whole vectors of a row, if any, to kKept partial results. Returns the number of elements
/// combined.
template <class Op, int kKept, class T, class Load>
std::int64_t reduce_vectors(std::int64_t n, T* kept, Load&& load) {
  if (n < Vec<T>::size) return 0;
  std::int64_t taken = 0;
  fold_lanes<Op, kKept>(combined_vectors<Op, T>(n, taken, load), kept);
  return taken;
}

/// Reduces the leading complex numbers of a row, in chains of two vectors of real and two of imaginary parts. Returns
/// the number of elements reduced.
template <template <class> class Op, class T>
std::int64_t reduce_split(const T* x, std::int64_t n, T& result) {
  using Part = typename T::value_type;
  using V = Vec<Part>;
  constexpr int kChains = 2;
  constexpr std::int64_t kStep = kChains * V::size;
  if (n < 2 * kStep) return 0;
  const auto* const from = reinterpret_cast<const Part*>(x);
  Number<V> parts[kChains];
  for (int k = 0; k < kChains; ++k) parts[k] = load_pairs(from + 2 * k * V::size);
  std::int64_t i = kStep;
  for (; i + kStep <= n; i += kStep) {
    for (int k = 0; k < kChains; ++k) {
      const auto next = load_pairs(from + 2 * (i + k * V::size));
      Op<T>::combine_parts(parts[k], next);
    }
  }
  Op<T>::combine_parts(parts[0], parts[1]);
  T lanes[V::size];
  store_pairs(parts[0], reinterpret_cast<Part*>(lanes));
  for (int half = V::size / 2; half > 0; half /= 2) {
    for (int k = 0; k < half; ++k) lanes[k] = Op<T>::combine(lanes[k], lanes[k + half]);
  }
  result = lanes[0];
  return i;
}

/// Reduces a short contiguous row.
template <template <class> class Op, class T>
typename Op<T>::Acc reduce_block(const Op<T>& op, const T* x, std::int64_t n) {
  using Acc = typename Op<T>::Acc;
  if constexpr (kIsHalf<T> && std::is_same_v<Acc, float> && !kWidens<Op, T>) {
    float values[kReduceBlock];
    widen(x, n, values);
    return reduce_block(for_float(op), values, n);
  } else {
    Acc result = Op<T>::identity();
    std::int64_t i = 0;
    if constexpr (kInVectors<Op, T> || kWidens<Op, T>) {
      Acc part;
      i = reduce_vectors<Op<T>, 1>(n, &part, [&](std::int64_t at) { return load_lifted(op, x + at); });
      if (i > 0) result = part;
    } else if constexpr (requires { typename Op<T>::Parts; }) {  // complex numbers whose parts are added separately
      using Part = typename T::value_type;
      const auto* numbers = reinterpret_cast<const Part*>(x);
      Part parts[2];
      i = reduce_vectors<typename Op<T>::Parts, 2>(2 * n, parts,
                                                   [&](std::int64_t at) { return Vec<Part>::load(numbers + at); });
      if (i > 0) result = {parts[0], parts[1]};
      i /= 2;
    } else if constexpr (requires { Op<T>::kSplits; }) {
      i = reduce_split<Op>(x, n, result);
    }
    for (; i < n; ++i) result = Op<T>::combine(result, op.lift(x[i]));
    return result;
  }
}

/// Loads elements 0, 2, 4 .. of x, one per lane. Reads the element after the last of them, too.
template <class T>
Vec<T> load_every_second(const T* x) {
  return Vec<T>(every_second<0>(Vec<T>::load(x).native(), Vec<T>::load(x + Vec<T>::size).native(),
                                std::make_index_sequence<Vec<T>::size>()));
}

template <template <class> class Op, class T>
typename Op<T>::Acc reduce_strided_block(const Op<T>& op, const T* x, std::int64_t step, std::int64_t n) {
  using Acc = typename Op<T>::Acc;
  if constexpr (kInVectors<Op, T>) {
    Acc result;
    if (step == 2) {
      // Excludes the last element: there may be no element after it to read.
      std::int64_t i = reduce_vectors<Op<T>, 1>(n - 1, &result, [&](std::int64_t at) {
        const Vec<T> elements = load_every_second(x + 2 * at);
        if constexpr (requires { op.lift(elements); }) {
          return op.lift(elements);
        } else {
          return elements;
        }
      });
      if (i > 0) {
        for (; i < n; ++i) result = Op<T>::combine(result, op.lift(x[2 * i]));
        return result;
      }
    }
  }
  std::int64_t i = 1;
  Acc result = op.lift(x[0]);
  if (n >= 2 * kAccumulators) {
    // Several independent chains, because each step waits for the one before it.
    Acc parts[kAccumulators];
    for (int k = 0; k < kAccumulators; ++k) parts[k] = op.lift(x[k * step]);
    for (i = kAccumulators; i + kAccumulators <= n; i += kAccumulators) {
      for (int k = 0; k < kAccumulators; ++k) parts[k] = Op<T>::combine(parts[k], op.lift(x[(i + k) * step]));
    }
    result = Op<T>::combine(Op<T>::combine(parts[0], parts[1]), Op<T>::combine(parts[2], parts[3]));
  }
  for (; i < n; ++i) result = Op<T>::combine(result, op.lift(x[i * step]));
  return result;
}

/// Returns n / 2 rounded up to whole blocks.
inline std::int64_t first_half(std::int64_t n, std::int64_t block) { return (n / 2 + block - 1) / block * block; }

/// Reduces a long contiguous row of whole vectors to one vector of partial results. Folding the lanes after each block
/// instead would stall the loads of the next one.
template <template <class> class Op, class T>
Vec<typename Op<T>::Acc> reduce_to_vector(const Op<T>& op, const T* x, std::int64_t n) {
  using Acc = typename Op<T>::Acc;
  if (n <= kReduceBlock) {
    std::int64_t taken = 0;
    return combined_vectors<Op<T>, Acc>(n, taken, [&](std::int64_t at) { return load_lifted(op, x + at); });
  }
  const std::int64_t half = first_half(n, kReduceBlock);
  const Vec<Acc> first = reduce_to_vector(op, x, half);
  return Op<T>::combine(first, reduce_to_vector(op, x + half, n - half));
}

template <template <class> class Op, class T>
typename Op<T>::Acc reduce_pairwise(const Op<T>& op, const T* x, std::int64_t step, std::int64_t n) {
  using Acc = typename Op<T>::Acc;
  if (step == 1 && n <= kReduceBlock) return reduce_block(op, x, n);
  if constexpr (kInVectors<Op, T> || kWidens<Op, T>) {
    if (step == 1) {
      const std::int64_t whole = n / Vec<Acc>::size * Vec<Acc>::size;
      Acc result;
      fold_lanes<Op<T>, 1>(reduce_to_vector(op, x, whole), &result);
      for (std::int64_t i = whole; i < n; ++i) result = Op<T>::combine(result, op.lift(x[i]));
      return result;
    }
  }
  const bool in_vectors = step == 1 || (step == 2 && kInVectors<Op, T>);
  const std::int64_t block = in_vectors ? kReduceBlock : kStridedBlock;
  if (n <= block) return reduce_strided_block(op, x, step, n);
  const std::int64_t half = first_half(n, block);
  // Evaluated in the order of memory, for the hardware prefetcher; the order in which arguments are evaluated is
  // unspecified.
  const Acc first = reduce_pairwise(op, x, step, half);
  return Op<T>::combine(first, reduce_pairwise(op, x + half * step, step, n - half));
}

/// Returns a vector with the results of the rows of kWidth lanes that the loaded vectors hold; load(at) returns the
/// vector at lane `at`. Each step combines neighboring lanes, which halves the number of lanes per row.
template <class Op, int kWidth, class Load>
auto reduce_lanes(Load&& load, std::int64_t at) {
  if constexpr (kWidth == 1) {
    return load(at);
  } else {
    const auto a = reduce_lanes<Op, kWidth / 2>(load, at);
    using V = std::remove_const_t<decltype(a)>;
    const auto b = reduce_lanes<Op, kWidth / 2>(load, at + kWidth / 2 * V::size);
    constexpr auto kLanes = std::make_index_sequence<V::size>();
    return Op::combine(V(every_second<0>(a.native(), b.native(), kLanes)),
                       V(every_second<1>(a.native(), b.native(), kLanes)));
  }
}

/// Reduces short contiguous rows, as many at once as a vector has lanes. The last rows are computed in the same way on
/// a copy, so that a row's result does not depend on its position.
template <int kWidth, template <class> class Op, class T>
void reduce_short_rows(const Op<T>& op, const T* x, std::int64_t rows, typename Op<T>::Acc* out) {
  using V = Vec<typename Op<T>::Acc>;
  const auto reduced = [&op](const T* from) {
    return reduce_lanes<Op<T>, kWidth>([&op, from](std::int64_t at) { return load_lifted(op, from + at); }, 0);
  };
  std::int64_t r = 0;
  for (; r + V::size <= rows; r += V::size) reduced(x + r * kWidth).store(out + r);
  if (r == rows) return;
  T last[kWidth * V::size] = {};
  std::copy_n(x + r * kWidth, (rows - r) * kWidth, last);
  typename Op<T>::Acc results[V::size];
  reduced(last).store(results);
  std::copy_n(results, rows - r, out + r);
}

/// Reduces rows of n elements by reduce_short_rows(); returns false if there is no loop for this length.
template <template <class> class Op, class T>
bool reduced_short_rows(const Op<T>& op, const T* x, std::int64_t n, std::int64_t rows, typename Op<T>::Acc* out) {
  const auto try_width = [&]<int kWidth>(std::integral_constant<int, kWidth>) {
    if constexpr (kWidth <= Vec<typename Op<T>::Acc>::size) {
      if (n == kWidth) reduce_short_rows<kWidth>(op, x, rows, out);
      return n == kWidth;
    }
    return false;
  };
  return try_width(std::integral_constant<int, 2>()) || try_width(std::integral_constant<int, 4>()) ||
         try_width(std::integral_constant<int, 8>()) || try_width(std::integral_constant<int, 16>());
}

/// Returns the first half (or, if kSecond, the second half) of each group of kGroup lanes of a, then of b.
template <int kGroup, bool kSecond, class V, std::size_t... I>
V halves_of_groups(V a, V b, std::index_sequence<I...>) {
  constexpr int kHalf = kGroup / 2;
  return __builtin_shufflevector(
      a, b, (static_cast<int>(I) / kHalf * kGroup + static_cast<int>(I) % kHalf + (kSecond ? kHalf : 0))...);
}

/// Folds the lanes of V::size vectors, in the order of fold_lanes(), into one vector of results.
template <class Op, class V, int kVectors = V::size>
V folded_together(const V* v) {
  if constexpr (kVectors == 1) {
    return *v;
  } else {
    constexpr auto kLanes = std::make_index_sequence<V::size>();
    constexpr int kGroup = 2 * V::size / kVectors;
    const V a = folded_together<Op, V, kVectors / 2>(v);
    const V b = folded_together<Op, V, kVectors / 2>(v + kVectors / 2);
    return Op::combine(V(halves_of_groups<kGroup, false>(a.native(), b.native(), kLanes)),
                       V(halves_of_groups<kGroup, true>(a.native(), b.native(), kLanes)));
  }
}

/// Returns the number of rows that are reduced together, so that their results fill a vector.
template <template <class> class Op, class T>
constexpr std::int64_t rows_together() {
  if constexpr (kIsComplex<T>) {
    return Vec<typename T::value_type>::size / 2;
  } else {
    return Vec<typename Op<T>::Acc>::size;
  }
}

/// Reduces rows_together() contiguous rows of at least one vector each; every result equals that of reduce_block().
template <template <class> class Op, class T>
void reduce_block_rows(const Op<T>& op, const T* x, std::int64_t n, std::int64_t row_step, typename Op<T>::Acc* out) {
  constexpr auto kRows = static_cast<int>(rows_together<Op, T>());
  std::int64_t taken = 0;
  if constexpr (requires { typename Op<T>::Parts; }) {
    using Parts = typename Op<T>::Parts;
    using Part = typename T::value_type;
    Vec<Part> totals[kRows];
    for (int r = 0; r < kRows; ++r) {
      const auto* const row = reinterpret_cast<const Part*>(x + r * row_step);
      const auto load = [row](std::int64_t at) { return Vec<Part>::load(row + at); };
      totals[r] = combined_vectors<Parts, Part>(2 * n, taken, load);
    }
    folded_together<Parts, Vec<Part>, kRows>(totals).store(reinterpret_cast<Part*>(out));
    taken /= 2;
  } else {
    using Acc = typename Op<T>::Acc;
    Vec<Acc> totals[kRows];
    for (int r = 0; r < kRows; ++r) {
      const T* const row = x + r * row_step;
      totals[r] =
          combined_vectors<Op<T>, Acc>(n, taken, [&op, row](std::int64_t at) { return load_lifted(op, row + at); });
    }
    folded_together<Op<T>>(totals).store(out);
  }
  for (std::int64_t i = taken; i < n; ++i) {
    for (int r = 0; r < kRows; ++r) out[r] = Op<T>::combine(out[r], op.lift(x[r * row_step + i]));
  }
}

/// Reduces kRows rows of a few elements, interleaved.
template <int kRows, template <class> class Op, class T>
void reduce_few_elements(const Op<T>& op, const T* x, std::int64_t n, std::int64_t row_step, typename Op<T>::Acc* out) {
  typename Op<T>::Acc results[kRows];
  for (int k = 0; k < kRows; ++k) results[k] = op.lift(x[k * row_step]);
  for (std::int64_t i = 1; i < n; ++i) {
    for (int k = 0; k < kRows; ++k) results[k] = Op<T>::combine(results[k], op.lift(x[k * row_step + i]));
  }
  for (int k = 0; k < kRows; ++k) out[k] = results[k];
}

/// Returns the number of elements below which reduce_few_elements() is used.
template <template <class> class Op, class T>
constexpr std::int64_t few_elements() {
  if constexpr (kInVectors<Op, T> || kWidens<Op, T>) {
    return std::min<std::int64_t>(16, Vec<typename Op<T>::Acc>::size);
  } else if constexpr (requires { Op<T>::kSplits; }) {
    return 4 * Vec<typename T::value_type>::size;  // the step of reduce_split()
  } else if constexpr (kIsComplex<T>) {
    return rows_together<Op, T>();
  } else {
    return 8;
  }
}

/// Reduces contiguous rows. A row's result depends on its elements alone, not on the number of rows.
template <template <class> class Op, class T>
void reduce_contiguous_rows(const Op<T>& op, const T* x, std::int64_t n, std::int64_t rows, std::int64_t row_step,
                            typename Op<T>::Acc* out) {
  using Acc = typename Op<T>::Acc;
  constexpr bool kVectors = kInVectors<Op, T> || kWidens<Op, T>;
  std::int64_t r = 0;
  if constexpr (kVectors && sizeof(Acc) >= 4) {
    if (row_step == n && reduced_short_rows(op, x, n, rows, out)) return;
  }
  if constexpr ((kVectors && sizeof(Acc) >= 4) || requires { typename Op<T>::Parts; }) {
    constexpr std::int64_t kRows = rows_together<Op, T>();
    if (n >= kRows && n <= kReduceBlock) {
      for (; r + kRows <= rows; r += kRows) reduce_block_rows(op, x + r * row_step, n, row_step, out + r);
    }
  }
  if constexpr (kVectors || std::is_arithmetic_v<T> || kIsComplex<T>) {
    constexpr std::int64_t kFew = few_elements<Op, T>();
    constexpr std::int64_t kRows = kIsComplex<T> ? 8 : 4;
    if (n < kFew) {
      for (; r + kRows <= rows; r += kRows) reduce_few_elements<kRows>(op, x + r * row_step, n, row_step, out + r);
      for (; r < rows; ++r) reduce_few_elements<1>(op, x + r * row_step, n, row_step, out + r);
      return;
    }
  }
  if (n <= kReduceBlock) {
    for (; r < rows; ++r) out[r] = reduce_block(op, x + r * row_step, n);
  } else {
    for (; r < rows; ++r) out[r] = reduce_pairwise(op, x + r * row_step, 1, n);
  }
}

template <template <class> class Op, class T>
void reduce_rows_by(const Op<T>& op, const T* row, std::int64_t step, std::int64_t n, std::int64_t rows,
                    std::int64_t row_step, typename Op<T>::Acc* to) {
  if (step == 1) return reduce_contiguous_rows(op, row, n, rows, row_step, to);
  for (std::int64_t r = 0; r < rows; ++r) to[r] = reduce_pairwise(op, row + r * row_step, step, n);
}

/// Returns the number of independent chains of rows for so many vectors of columns: with few vectors, each addition
/// would wait for the row above.
constexpr int row_chains(std::int64_t vectors) { return vectors == 1 ? 4 : vectors == 2 ? 2 : 1; }

/// Reduces kWidth vectors of columns over a few rows; the last vector starts at column `last`.
template <int kWidth, template <class> class Op, class T, int kChains = row_chains(kWidth)>
void reduce_column_vectors(const Op<T>& op, const T* x, std::int64_t step, std::int64_t n, std::int64_t last,
                           typename Op<T>::Acc* out) {
  using V = Vec<typename Op<T>::Acc>;
  if constexpr (kChains > 1) {
    if (n < kChains) return reduce_column_vectors<kWidth, Op, T, 1>(op, x, step, n, last, out);
  }
  const auto column = [last](int k) { return k + 1 < kWidth ? k * V::size : last; };
  V results[kChains][kWidth];
  for (int h = 0; h < kChains; ++h) {
    for (int k = 0; k < kWidth; ++k) results[h][k] = load_lifted(op, x + h * step + column(k));
  }
  const auto add_row = [&](V(&chain)[kWidth], std::int64_t r) {
    for (int k = 0; k < kWidth; ++k) chain[k] = Op<T>::combine(chain[k], load_lifted(op, x + r * step + column(k)));
  };
  std::int64_t r = kChains;
  for (; r + kChains <= n; r += kChains) {
    for (int h = 0; h < kChains; ++h) add_row(results[h], r + h);
  }
  for (; r < n; ++r) add_row(results[0], r);
  for (int half = kChains / 2; half > 0; half /= 2) {
    for (int h = 0; h < half; ++h) {
      for (int k = 0; k < kWidth; ++k) results[h][k] = Op<T>::combine(results[h][k], results[h + half][k]);
    }
  }
  for (int k = 0; k < kWidth; ++k) results[0][k].store(out + column(k));
}

/// Reduces whole vectors of wide rows, a few rows at a time: consecutive reads are neighbors, which suits the
/// prefetcher, and the results stay in the L1 cache. Returns the number of columns reduced.
template <template <class> class Op, class T>
std::int64_t reduce_wide_rows(const Op<T>& op, const T* x, std::int64_t step, std::int64_t n, std::int64_t columns,
                              typename Op<T>::Acc* out) {
  using V = Vec<typename Op<T>::Acc>;
  constexpr int kRows = 4;
  const std::int64_t whole = columns / V::size * V::size;
  if (n < kRows) return 0;
  std::int64_t r = 0;
  const auto of_rows = [&](std::int64_t c) {
    const T* const from = x + r * step + c;
    return Op<T>::combine(Op<T>::combine(load_lifted(op, from), load_lifted(op, from + step)),
                          Op<T>::combine(load_lifted(op, from + 2 * step), load_lifted(op, from + 3 * step)));
  };
  for (std::int64_t c = 0; c < whole; c += V::size) of_rows(c).store(out + c);
  for (r = kRows; r + kRows <= n; r += kRows) {
    for (std::int64_t c = 0; c < whole; c += V::size) Op<T>::combine(V::load(out + c), of_rows(c)).store(out + c);
  }
  for (; r < n; ++r) {
    for (std::int64_t c = 0; c < whole; c += V::size)
      Op<T>::combine(V::load(out + c), load_lifted(op, x + r * step + c)).store(out + c);
  }
  return whole;
}

/// Reduces all columns (at least one vector of them) over a few rows. The last vector may overlap the one before it.
template <template <class> class Op, class T>
void reduce_whole_vectors(const Op<T>& op, const T* x, std::int64_t step, std::int64_t n, std::int64_t columns,
                          typename Op<T>::Acc* out) {
  constexpr std::int64_t kSize = Vec<typename Op<T>::Acc>::size;
  constexpr int kWidth = 4;
  constexpr std::int64_t kWide = 16 * kSize;
  std::int64_t c = columns >= kWide ? reduce_wide_rows(op, x, step, n, columns, out) : 0;
  for (; c + kWidth * kSize <= columns; c += kWidth * kSize)
    reduce_column_vectors<kWidth>(op, x + c, step, n, (kWidth - 1) * kSize, out + c);
  const std::int64_t vectors = (columns - c + kSize - 1) / kSize;
  // The last vector overlaps the one before it if the columns do not fill whole vectors.
  [&]<int... I>(std::integer_sequence<int, I...>) {
    ((vectors == I + 1 ? reduce_column_vectors<I + 1>(op, x + c, step, n, columns - c - kSize, out + c) : void()), ...);
  }(std::make_integer_sequence<int, kWidth>());
}

/// Reduces adjacent rows of kColumns elements each, several rows per vector.
template <int kColumns, template <class> class Op, class T>
void reduce_narrow_rows(const Op<T>& op, const T* x, std::int64_t n, typename Op<T>::Acc* out) {
  const std::int64_t taken =
      reduce_vectors<Op<T>, kColumns>(n * kColumns, out, [&](std::int64_t at) { return load_lifted(op, x + at); });
  std::int64_t r = taken / kColumns;
  if (r == 0) {
    for (int k = 0; k < kColumns; ++k) out[k] = op.lift(x[k]);
    r = 1;
  }
  for (; r < n; ++r) {
    for (int k = 0; k < kColumns; ++k) out[k] = Op<T>::combine(out[k], op.lift(x[r * kColumns + k]));
  }
}

/// Reduces adjacent rows of any number of columns below V::size, few rows. Of each vector, only the lanes of whole rows
/// count.
template <template <class> class Op, class T>
void reduce_rows_in_lanes(const Op<T>& op, const T* x, std::int64_t n, std::int64_t columns, typename Op<T>::Acc* out) {
  using Acc = typename Op<T>::Acc;
  using V = Vec<Acc>;
  constexpr int kChains = 4;
  const std::int64_t rows = V::size / columns;
  const std::int64_t step = rows * columns;
  const std::int64_t vectors = (n * columns - V::size) / step + 1;
  V sums[kChains];
  for (std::int64_t v = 0; v < std::min<std::int64_t>(vectors, kChains); ++v) sums[v] = load_lifted(op, x + v * step);
  std::int64_t v = kChains;
  for (; v + kChains <= vectors; v += kChains) {
    for (int h = 0; h < kChains; ++h) sums[h] = Op<T>::combine(sums[h], load_lifted(op, x + (v + h) * step));
  }
  for (; v < vectors; ++v) sums[0] = Op<T>::combine(sums[0], load_lifted(op, x + v * step));
  for (int h = 1; h < std::min<std::int64_t>(vectors, kChains); ++h) sums[0] = Op<T>::combine(sums[0], sums[h]);
  Acc lanes[V::size];
  sums[0].store(lanes);
  std::copy_n(lanes, columns, out);
  for (std::int64_t r = 1; r < rows; ++r) {
    for (std::int64_t k = 0; k < columns; ++k) out[k] = Op<T>::combine(out[k], lanes[r * columns + k]);
  }
  for (std::int64_t r = vectors * rows; r < n; ++r) {
    for (std::int64_t k = 0; k < columns; ++k) out[k] = Op<T>::combine(out[k], op.lift(x[r * columns + k]));
  }
}

/// Reduces adjacent rows of any number of columns below V::size, many rows: V::size rows fill whole vectors.
template <template <class> class Op, class T>
void reduce_rows_of_part(const Op<T>& op, const T* x, std::int64_t n, std::int64_t columns, typename Op<T>::Acc* out) {
  using Acc = typename Op<T>::Acc;
  using V = Vec<Acc>;
  V sums[V::size];
  for (std::int64_t v = 0; v < columns; ++v) sums[v] = load_lifted(op, x + v * V::size);
  std::int64_t r = V::size;
  for (; r + V::size <= n; r += V::size) {
    const T* const rows = x + r * columns;
    for (std::int64_t v = 0; v < columns; ++v) sums[v] = Op<T>::combine(sums[v], load_lifted(op, rows + v * V::size));
  }
  Acc lanes[V::size * V::size];
  for (std::int64_t v = 0; v < columns; ++v) sums[v].store(lanes + v * V::size);
  for (std::int64_t half = V::size / 2 * columns; half >= columns; half /= 2) {
    for (std::int64_t i = 0; i < half; ++i) lanes[i] = Op<T>::combine(lanes[i], lanes[i + half]);
  }
  for (; r < n; ++r) {
    for (std::int64_t k = 0; k < columns; ++k) lanes[k] = Op<T>::combine(lanes[k], op.lift(x[r * columns + k]));
  }
  std::copy_n(lanes, columns, out);
}

/// True if a vector of results T holds several rows of `columns` columns.
template <class T>
constexpr bool is_narrow(std::int64_t columns) {
  return columns > 1 && columns < Vec<T>::size;
}

/// Reduces adjacent rows if is_narrow(columns); returns false for other widths and for too few rows.
template <template <class> class Op, class T>
bool reduced_narrow_rows(const Op<T>& op, const T* x, std::int64_t n, std::int64_t columns, typename Op<T>::Acc* out) {
  const auto try_width = [&]<int kColumns>(std::integral_constant<int, kColumns>) {
    if constexpr (kColumns < Vec<typename Op<T>::Acc>::size) {
      if (columns == kColumns) reduce_narrow_rows<kColumns>(op, x, n, out);
      return columns == kColumns;
    }
    return false;
  };
  if (try_width(std::integral_constant<int, 2>()) || try_width(std::integral_constant<int, 4>()) ||
      try_width(std::integral_constant<int, 8>()))
    return true;
  constexpr std::int64_t kSize = Vec<typename Op<T>::Acc>::size;
  if (!is_narrow<typename Op<T>::Acc>(columns) || n * columns < kSize) return false;
  if (n < 16 * kSize) {
    reduce_rows_in_lanes(op, x, n, columns, out);
  } else {
    reduce_rows_of_part(op, x, n, columns, out);
  }
  return true;
}

/// Reduces whole vectors of columns of complex numbers. Returns the number of columns reduced.
template <template <class> class Op, class T>
std::int64_t reduce_split_columns(const T* x, std::int64_t step, std::int64_t n, std::int64_t columns, T* out) {
  using Part = typename T::value_type;
  std::int64_t c = 0;
  for (; c + Vec<Part>::size <= columns; c += Vec<Part>::size) {
    auto result = load_pairs(reinterpret_cast<const Part*>(x + c));
    for (std::int64_t r = 1; r < n; ++r) {
      const auto next = load_pairs(reinterpret_cast<const Part*>(x + r * step + c));
      Op<T>::combine_parts(result, next);
    }
    store_pairs(result, reinterpret_cast<Part*>(out + c));
  }
  return c;
}

template <template <class> class Op, class T>
void reduce_few_rows(const Op<T>& op, const T* x, std::int64_t step, std::int64_t n, std::int64_t columns,
                     typename Op<T>::Acc* out) {
  using Acc = typename Op<T>::Acc;
  if constexpr (kIsHalf<T> && std::is_same_v<Acc, float> && !kWidens<Op, T>) {
    float row[kReduceColumns];
    for (std::int64_t r = 0; r < n; ++r) {
      widen(x + r * step, columns, row);
      for (std::int64_t k = 0; k < columns; ++k) {
        const float element = for_float(op).lift(row[k]);
        out[k] = r == 0 ? element : Op<float>::combine(out[k], element);
      }
    }
  } else {
    if constexpr (kInVectors<Op, T> || kWidens<Op, T>) {
      if (step == columns && reduced_narrow_rows(op, x, n, columns, out)) return;
      if (columns >= Vec<Acc>::size) return reduce_whole_vectors(op, x, step, n, columns, out);
    }
    std::int64_t c = 0;
    if constexpr (requires { Op<T>::kSplits; }) c = reduce_split_columns<Op>(x, step, n, columns, out);
    for (std::int64_t k = c; k < columns; ++k) out[k] = op.lift(x[k]);
    for (std::int64_t r = 1; r < n; ++r) {
      const T* row = x + r * step;
      for (std::int64_t k = c; k < columns; ++k) out[k] = Op<T>::combine(out[k], op.lift(row[k]));
    }
  }
}

template <template <class> class Op, class T>
void reduce_columns_pairwise(const Op<T>& op, const T* x, std::int64_t step, std::int64_t n, std::int64_t columns,
                             typename Op<T>::Acc* out) {
  // More rows at once if several chains or rows share a vector, so that the chains of additions keep their length.
  constexpr std::int64_t kRows = 32;
  std::int64_t rows_at_once = kRows;
  if constexpr (kInVectors<Op, T> || kWidens<Op, T>) {
    using Acc = typename Op<T>::Acc;
    if (columns >= Vec<Acc>::size) {
      rows_at_once *= row_chains((columns + Vec<Acc>::size - 1) / Vec<Acc>::size);
    } else if (step == columns && is_narrow<Acc>(columns)) {
      rows_at_once *= 16;
    }
  }
  if (n <= rows_at_once) {
    reduce_few_rows(op, x, step, n, columns, out);
    return;
  }
  const std::int64_t half = (n / 2 + rows_at_once - 1) / rows_at_once * rows_at_once;
  typename Op<T>::Acc rest[kReduceColumns];
  reduce_columns_pairwise(op, x, step, half, columns, out);
  reduce_columns_pairwise(op, x + half * step, step, n - half, columns, rest);
  for (std::int64_t k = 0; k < columns; ++k) out[k] = Op<T>::combine(out[k], rest[k]);
}

template <template <class> class Op, class T>
void reduce_columns_by(const Op<T>& op, const T* x, std::int64_t step, std::int64_t n, std::int64_t columns,
                       typename Op<T>::Acc* out) {
  for (std::int64_t c = 0; c < columns; c += kReduceColumns)
    reduce_columns_pairwise(op, x + c, step, n, std::min(kReduceColumns, columns - c), out + c);
}

template <template <class> class Op, class T>
void reduce_rows(const void* x, std::int64_t step, std::int64_t n, std::int64_t rows, std::int64_t row_step,
                 void* out) {
  reduce_rows_by(Op<T>(), static_cast<const T*>(x), step, n, rows, row_step, static_cast<typename Op<T>::Acc*>(out));
}
template <template <class> class Op, class T>
void reduce_columns(const void* x, std::int64_t step, std::int64_t n, std::int64_t columns, void* out) {
  if constexpr (requires { typename Op<T>::Parts; }) {
    // The parts of complex numbers are combined separately, so they are columns of their own.
    reduce_columns<Op, typename T::value_type>(x, 2 * step, n, 2 * columns, out);
  } else {
    reduce_columns_by(Op<T>(), static_cast<const T*>(x), step, n, columns, static_cast<typename Op<T>::Acc*>(out));
  }
}

/// Sets the kernels of a reduction for elements of `dtype`, which are stored as T.
template <template <class> class Op, class T>
void set_reduction(ReduceKernels& kernels, Reduction reduction, DType dtype = dtype_of<T>) {
  const auto row = static_cast<std::size_t>(reduction);
  kernels.rows[row][static_cast<std::size_t>(dtype)] = reduce_rows<Op, T>;
  kernels.columns[row][static_cast<std::size_t>(dtype)] = reduce_columns<Op, T>;
}
template <template <class> class Op, class... T>
void set_reductions(ReduceKernels& kernels, Reduction reduction) {
  (set_reduction<Op, T>(kernels, reduction), ...);
}

}  // namespace LM_SIMD_ISA
}  // namespace lamella::cpu
