#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "ops/simd/vec.h"

// Scans of a few adjacent columns. A row of 2 or 3 numbers is shorter than a vector, and a loop over it costs more to
// start than to run. So a vector holds as many whole rows as fit, and a lane finds the element above it by a shuffle.
// The remaining lanes belong to the next row and are written again with it.

namespace lamella::cpu {
inline namespace LM_SIMD_ISA {

constexpr std::int64_t kNarrowest = 2;
constexpr std::int64_t kWidestNarrow = 8;  // columns; beyond it the loop over a row is long enough

/// Selects lane source(i) of the concatenation of a and b for lane i.
template <class V, class Source, std::size_t... I>
V lanes_at(V a, V b, Source, std::index_sequence<I...>) {
  return __builtin_shufflevector(a, b, Source()(static_cast<int>(I))...);
}

/// Rows of kWidth elements in vectors of C.
template <class C, int kWidth, bool kReverse>
struct RowsInVector {
  using V = simd::Native<C>;
  static constexpr int kLanes = simd::Vec<C>::size;
  static constexpr int kTaken = kLanes / kWidth * kWidth;
  /// First lane of the whole rows; the remaining lanes follow them in the direction of the scan.
  static constexpr int kFirst = kReverse ? kLanes - kTaken : 0;
  static constexpr auto kAll = std::make_index_sequence<kLanes>();

  /// Combines each row with all rows before it in the vector.
  template <class Op, int kShift = kWidth>
  static V combined(V v) {
    if constexpr (kShift < kTaken) {
      constexpr auto source = [](int lane) {
        const int from = kReverse ? lane + kShift : lane - kShift;
        return from < 0 || from >= kLanes ? kLanes : from;
      };
      const V before = lanes_at(v, simd::splat<V>(Op::template first<C>()), source, kAll);
      return combined<Op, 2 * kShift>(Op::next(before, v));
    } else {
      return v;
    }
  }
  /// Repeats the last row of the vector in every row.
  static V last_row(V v) {
    constexpr auto source = [](int lane) {
      const int column = (lane - kFirst + kLanes * kWidth) % kWidth;
      return kReverse ? kFirst + column : kTaken - kWidth + column;
    };
    return lanes_at(v, v, source, kAll);
  }
};

/// Scans `rows` contiguous rows of kWidth elements. `carries` holds the carried values before the rows, and afterwards
/// those behind them. `out` must not be x.
template <class Op, int kWidth, bool kReverse, class T, class C>
void scan_in_vectors(const T* x, T* out, std::int64_t rows, C* carries) {
  using Rows = RowsInVector<C, kWidth, kReverse>;
  using V = typename Rows::V;
  using Narrow [[gnu::vector_size(sizeof(T) * Rows::kLanes)]] = T;
  const std::int64_t n = rows * kWidth;
  C repeated[Rows::kLanes];
  for (int i = 0; i < Rows::kLanes; ++i) {
    const int column = (i - Rows::kFirst + Rows::kLanes * kWidth) % kWidth;
    repeated[i] = carries[column];
  }
  V before = simd::Vec<C>::load(repeated).native();
  std::int64_t taken = 0;
  for (; taken + Rows::kLanes <= n; taken += Rows::kTaken) {
    const std::int64_t at = kReverse ? n - taken - Rows::kLanes : taken;
    Narrow in;
    std::memcpy(&in, x + at, sizeof in);
    const V own = Rows::template combined<Op>(__builtin_convertvector(in, V));
    const Narrow result = __builtin_convertvector(Op::next(before, own), Narrow);
    std::memcpy(out + at, &result, sizeof result);
    before = Op::next(before, Rows::last_row(own));
  }
  simd::Vec<C>(before).store(repeated);
  std::copy_n(repeated + Rows::kFirst, kWidth, carries);
  for (; taken < n; taken += kWidth) {
    const std::int64_t at = kReverse ? n - taken - kWidth : taken;
    for (int k = 0; k < kWidth; ++k) out[at + k] = static_cast<T>(carries[k] = Op::next(carries[k], C(x[at + k])));
  }
}

/// Scans contiguous rows of kWidth elements one row at a time, without vectors.
template <class Op, int kWidth, bool kReverse, class T, class C>
void scan_in_registers(const T* x, T* out, std::int64_t rows, C* carries) {
  C carry[kWidth];
  std::copy_n(carries, kWidth, carry);
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t at = (kReverse ? rows - 1 - r : r) * kWidth;
    for (int k = 0; k < kWidth; ++k) out[at + k] = static_cast<T>(carry[k] = Op::next(carry[k], C(x[at + k])));
  }
  std::copy_n(carry, kWidth, carries);
}

/// Scans rows of any width from kNarrowest to kWidestNarrow. kInVectors says that elements may be combined in any
/// order.
template <class Op, bool kInVectors, class T, class C>
void scan_narrow(const T* x, T* out, std::int64_t rows, std::int64_t width, bool reverse, C* carries) {
  static_assert(sizeof(C) == 8);
  const auto run = [&]<int kWidth>(std::integral_constant<int, kWidth>) {
    const auto towards = [&]<bool kReverse>(std::bool_constant<kReverse>) {
      // Vectors pay only if at least 4 lanes are used.
      constexpr int kTaken = simd::Vec<C>::size / kWidth * kWidth;
      if constexpr (kInVectors && kTaken >= 4) {
        scan_in_vectors<Op, kWidth, kReverse>(x, out, rows, carries);
      } else {
        scan_in_registers<Op, kWidth, kReverse>(x, out, rows, carries);
      }
    };
    reverse ? towards(std::true_type()) : towards(std::false_type());
  };
  [&]<int... I>(std::integer_sequence<int, I...>) {
    ((width == kNarrowest + I ? run(std::integral_constant<int, kNarrowest + I>()) : void()), ...);
  }(std::make_integer_sequence<int, kWidestNarrow - kNarrowest + 1>());
}

}  // namespace LM_SIMD_ISA
}  // namespace lamella::cpu
