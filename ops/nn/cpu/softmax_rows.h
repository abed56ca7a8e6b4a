#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "ops/cpu/lanes.h"
#include "ops/cpu/stream.h"
#include "ops/nn/cpu/next_row.h"
#include "ops/simd/native_power.h"
#include "ops/simd/vec.h"

/// Loops over rows of numbers that become powers: softmax, its logarithm, cross-entropy.
namespace lamella::cpu {
inline namespace LM_SIMD_ISA {

using simd::Vec;

/// Calls f(i, vector) for each vector of a row; lanes beyond its end hold `pad`.
template <class T, class F>
void for_each_part(const T* x, std::int64_t width, T pad, F&& f) {
  constexpr int kLanes = Vec<T>::size;
  std::int64_t i = 0;
  for (; i + kLanes <= width; i += kLanes) f(i, kLanes, Vec<T>::load(x + i));
  if (i < width) f(i, static_cast<int>(width - i), Vec<T>::load_partial(x + i, static_cast<int>(width - i), pad));
}

template <class T>
void store(T* to, int lanes, Vec<T> value) {
  if (lanes == Vec<T>::size) {
    value.store(to);
  } else {
    value.store_partial(to, lanes);
  }
}

/// Returns the larger value, or b if a is NaN.
template <class T>
Vec<T> larger(Vec<T> a, Vec<T> b) {
  return Vec<T>(simd::native_math::extreme<true>(a.native(), b.native()));
}

/// Returns the maximum of a row, ignoring NaN: the sum of exponentials is NaN then, whatever is subtracted.
template <class T>
T max_of_row(const T* x, std::int64_t width) {
  constexpr int kLanes = Vec<T>::size;
  constexpr int kChains = 4;  // independent chains, because each step waits for the one before it
  constexpr T kLowest = -std::numeric_limits<T>::infinity();
  Vec<T> largest[kChains];
  for (Vec<T>& chain : largest) chain = kLowest;
  std::int64_t i = 0;
  for (; i + kChains * kLanes <= width; i += kChains * kLanes) {
    for (int k = 0; k < kChains; ++k) largest[k] = larger(Vec<T>::load(x + i + k * kLanes), largest[k]);
  }
  for (; i + kLanes <= width; i += kLanes) largest[0] = larger(Vec<T>::load(x + i), largest[0]);
  T result = folded(larger(larger(largest[0], largest[1]), larger(largest[2], largest[3])), larger<T>);
  for (; i < width; ++i) result = x[i] > result ? x[i] : result;
  return result;
}

/// Computes exp(v - top) for v <= top.
template <class T>
class Below {
 public:
  explicit Below(T top) : top_(top) {}
  Vec<T> operator()(Vec<T> v) const { return exp(v - top_); }

 private:
  Vec<T> top_;
};

/// Computes exp(v - top) times a factor near 1 that is the same for the whole row.
template <class T>
class NearlyBelow : public Below<T> {
 public:
  using Below<T>::Below;
  static constexpr bool fits(T) { return false; }
};

#ifdef LM_SIMD_FUSED
template <>
class Below<float> {
 public:
  explicit Below(float top) : top_(top) {}
  Vec<float> operator()(Vec<float> v) const {
    return Vec<float>(simd::native_math::power_of_two(((v - top_) * simd::native_math::kLog2E).native()));
  }

 private:
  Vec<float> top_;
};

template <>
class NearlyBelow<float> {
 public:
  /// True if the rounding error of top / ln(2) is negligible.
  static bool fits(float top) { return std::abs(top) < 0x1p14f; }
  explicit NearlyBelow(float top) : shift_(-top * simd::native_math::kLog2E) {}
  Vec<float> operator()(Vec<float> v) const {
    using simd::native_math::fused;
    using simd::native_math::kLog2E;
    using simd::native_math::power_of_two;
    return Vec<float>(power_of_two(fused(v.native(), Vec<float>(kLog2E).native(), shift_.native())));
  }

 private:
  Vec<float> shift_;
};
#endif

/// Returns the sum of f(v) over a row. `kept`, unless null, receives the values f(v).
template <class T, class F>
T sum_of(const T* x, std::int64_t width, T* kept, const F& f) {
  constexpr int kLanes = Vec<T>::size;
  constexpr int kChains = 4;
  constexpr T kLowest = -std::numeric_limits<T>::infinity();
  Vec<T> sums[kChains];
  for (Vec<T>& chain : sums) chain = 0;
  const NextRow<T> next(width);
  std::int64_t i = 0;
  for (; i + kChains * kLanes <= width; i += kChains * kLanes) {
    for (int k = 0; k < kChains; ++k) {
      next.fetch(x, i + k * kLanes);
      const Vec<T> e = f(Vec<T>::load(x + i + k * kLanes));
      sums[k] += e;
      if (kept) e.store(kept + i + k * kLanes);
    }
  }
  for_each_part(x + i, width - i, kLowest, [&](std::int64_t at, int lanes, Vec<T> v) {
    const Vec<T> e = f(v);
    sums[0] += e;
    if (kept) store(kept + i + at, lanes, e);
  });
  return sum_lanes((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

/// Stores y = f(from) for a row.
template <class T>
void store_row(T* y, std::int64_t width, bool streams, const T* from, auto&& f) {
  if (streams) {
    for (std::int64_t i = 0; i < width; i += Vec<T>::size) store_past_caches(y + i, f(Vec<T>::load(from + i)));
  } else {
    for_each_part(from, width, T(0), [&](std::int64_t i, int lanes, Vec<T> v) { store(y + i, lanes, f(v)); });
  }
}

/// Rows no longer than a vector, as many at once as it has lanes: each vector holds one element of every row.
template <class T>
class ShortRows {
 public:
  static constexpr int kLanes = Vec<T>::size;

  ShortRows(const T* x, std::int64_t rows, std::int64_t width)
      : lanes_(static_cast<int>(std::min<std::int64_t>(kLanes, rows))), width_(static_cast<int>(width)) {
    for (int w = 0; w < width_; ++w) {
      elements_[w] = lanes_ == kLanes ? Vec<T>::load_strided(x + w, width)
                                      : Vec<T>::load_strided_partial(x + w, width, lanes_, T(0));
    }
    for (int w = 0; w < width_; ++w) top_ = larger(elements_[w], top_);
  }

  void softmax(T* y, bool log_of) const {
    Vec<T> powers[kLanes];
    const Vec<T> sum = sum_of_powers(top_, powers);
    const Vec<T> shift = log_of ? log(sum) : 1 / sum;
    for (int w = 0; w < width_; ++w) {
      const Vec<T> value = log_of ? (elements_[w] - top_) - shift : powers[w] * shift;
      value.store_strided_partial(y + w, width_, lanes_);
    }
  }
  void log_sum_exp(T* y) const {
    // An infinite maximum is not subtracted: inf - inf would be NaN.
    const Vec<T> shift = where(isfinite(top_), top_, 0);
    Vec<T> powers[kLanes];
    store(y, lanes_, log(sum_of_powers(shift, powers)) + shift);
  }

  /// Computes for each row its largest element, and the sum of exp(x - largest element).
  void sums(T* tops, T* sums_of) const {
    Vec<T> powers[kLanes];
    top_.store(tops);
    sum_of_powers(top_, powers).store(sums_of);
  }
  /// Computes y = exp(x - top) * scale - shift with numbers of their own for each row.
  void scaled_powers(const T* tops, const T* scales, const T* shifts, T* y) const {
    const Vec<T> top = Vec<T>::load(tops), scale = Vec<T>::load(scales), shift = Vec<T>::load(shifts);
    for (int w = 0; w < width_; ++w)
      (exp(elements_[w] - top) * scale - shift).store_strided_partial(y + w, width_, lanes_);
  }

 private:
  Vec<T> sum_of_powers(Vec<T> shift, Vec<T>* powers) const {
    Vec<T> sum(0);
    for (int w = 0; w < width_; ++w) {
      powers[w] = exp(elements_[w] - shift);
      sum += powers[w];
    }
    return sum;
  }

  Vec<T> elements_[kLanes];
  Vec<T> top_ = -std::numeric_limits<T>::infinity();
  int lanes_;
  int width_;
};

}  // namespace LM_SIMD_ISA
}  // namespace lamella::cpu
