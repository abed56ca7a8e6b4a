#pragma once

#include <cstring>
#include <utility>

#include "ops/cpu/tile.h"
#include "ops/fft/cpu/butterflies.h"

// Where the first pass of a transform reads and the last one writes: number i is that of row i / lanes and lane i %
// lanes. With the moves between memory and the buffers inside these passes, a short transform runs over its numbers
// once per pass.

namespace lamella::cpu {
inline namespace LM_SIMD_ISA {

template <class X, class T>
Number<X> load_pairs_as(const T* from) {
  if constexpr (std::is_same_v<X, T>) {
    return {from[0], from[1]};
  } else {
    return load_pairs(from);
  }
}

/// Pairs in memory; the kFftLanes<T> pairs of a row are adjacent.
template <class T>
struct FromColumns {
  const T* data = nullptr;
  std::int64_t step = 0;  ///< distance between rows
};
template <class X, class T>
Number<X> load_number(FromColumns<T> from, std::int64_t at) {
  return load_pairs_as<X>(from.data + at / kFftLanes<T> * from.step + 2 * (at % kFftLanes<T>));
}
/// Pairs in memory, written with a factor; the pairs of a row are adjacent. With a `length`, rows are written in
/// reverse order, row 0 first, which gives the transform with the opposite sign.
template <class T>
struct ToColumns {
  T* data = nullptr;
  std::int64_t step = 0;
  T scale = 1;
  std::int64_t length = 0;
};
template <class X, class T>
void store_parts(Number<X> x, ToColumns<T> to, std::int64_t at) {
  const std::int64_t row = at / kFftLanes<T>;
  const std::int64_t place = to.length == 0 || row == 0 ? row : to.length - row;
  store_pairs(X(to.scale) * x, to.data + place * to.step + 2 * (at % kFftLanes<T>));
}

/// Concatenates two vectors.
template <class T, int kBytes>
simd::Native<T, 2 * kBytes> joined(simd::Native<T, kBytes> a, simd::Native<T, kBytes> b) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return static_cast<simd::Native<T, 2 * kBytes>>(__builtin_shufflevector(a, b, static_cast<int>(I)...));
  }(std::make_index_sequence<2 * kBytes / sizeof(T)>());
}
/// Loads kBytes in equal parts from kCount places.
template <int kBytes, int kCount, class T>
simd::Native<T, kBytes> load_joined(const T* const* from, std::int64_t offset) {
  if constexpr (kCount == 1) {
    simd::Native<T, kBytes> result;
    std::memcpy(&result, *from + offset, kBytes);
    return result;
  } else {
    return joined<T, kBytes / 2>(load_joined<kBytes / 2, kCount / 2>(from, offset),
                                 load_joined<kBytes / 2, kCount / 2>(from + kCount / 2, offset));
  }
}

/// Lines of pairs in memory, each in rows of kWidth, as many lines as fill a vector; conjugated where `sign` is -1.
template <class T, int kWidth>
struct FromPairs {
  static constexpr int kLines = simd::Vec<T>::size / kWidth;
  const T* starts[kLines];
  T sign = 1;
};
template <class X, class T, int kWidth>
Number<X> load_number(const FromPairs<T, kWidth>& from, std::int64_t at) {
  constexpr int kLines = FromPairs<T, kWidth>::kLines;
  Number<X> x;
  if constexpr (kLines == 1) {
    x = load_pairs_as<X>(from.starts[0] + 2 * at);
  } else {
    const std::int64_t offset = 2 * (at / kLines);
    x = parts_of<T>(load_joined<simd::kVectorBytes, kLines / 2>(from.starts, offset),
                    load_joined<simd::kVectorBytes, kLines / 2>(from.starts + kLines / 2, offset));
  }
  return {x.re, X(from.sign) * x.im};
}
/// Lines in buffers with separate parts, each in rows of kWidth, as many lines as fill a vector.
template <class T, int kWidth>
struct FromParts {
  static constexpr int kLines = simd::Vec<T>::size / kWidth;
  const T* re[kLines];
  const T* im[kLines];
};
template <class X, class T, int kWidth>
Number<X> load_number(const FromParts<T, kWidth>& from, std::int64_t at) {
  constexpr int kLines = FromParts<T, kWidth>::kLines;
  if constexpr (kLines == 1) {
    return {load_as<X>(from.re[0] + at), load_as<X>(from.im[0] + at)};
  } else {
    return {X(load_joined<simd::kVectorBytes, kLines>(from.re, at / kLines)),
            X(load_joined<simd::kVectorBytes, kLines>(from.im, at / kLines))};
  }
}

/// The rows of a buffer in another order: row i is row order[i].
template <class T>
struct Ordered {
  Split<T> rows;
  const std::int32_t* order = nullptr;
  std::int64_t place(std::int64_t at) const { return order[at / kFftLanes<T>] * kFftLanes<T> + at % kFftLanes<T>; }
};
template <class X, class T>
Number<X> load_number(Ordered<T> from, std::int64_t at) {
  return load_number<X>(from.rows, from.place(at));
}
template <class X, class T>
void store_parts(Number<X> x, Ordered<T> to, std::int64_t at) {
  store_parts(x, to.rows, to.place(at));
}

/// Writes row i times factor i into row i + 1 of a buffer. Row 0, which holds the number that Rader's convolution
/// leaves out, is added to the first product and receives the sum of all.
template <class T>
struct ToProducts {
  Split<const T> factors;
  Split<T> rows;
};
template <class X, class T>
void store_parts(Number<X> x, ToProducts<T> to, std::int64_t at) {
  const std::int64_t row = at / kFftLanes<T>;
  const Number<X> product = Number<X>{X(to.factors.re[row]), X(to.factors.im[row])} * x;
  if (row > 0) {
    store_parts(product, to.rows, at + kFftLanes<T>);
  } else {
    const Number<X> first = load_number<X>(to.rows, at);
    store_parts(first + product, to.rows, at + kFftLanes<T>);
    store_parts(first + x, to.rows, at);
  }
}

}  // namespace LM_SIMD_ISA
}  // namespace lamella::cpu
