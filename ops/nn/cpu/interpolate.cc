#include "ops/cpu/tables/interpolate.h"

#include <algorithm>
#include <type_traits>

namespace lamella::cpu {
namespace {

// Taps of weight 0 are left out: an infinite element that they read would make the result NaN.

/// Resamples along a last axis, with the usual numbers of taps as constants.
template <class T, class Taps>
void gather_row(const ResampleArgs<T>& a, Taps taps) {
  for (std::int64_t o = 0; o < a.out; ++o) {
    T sum = 0;
    for (std::int64_t k = o * taps; k < (o + 1) * taps; ++k) {
      const T weight = a.weight[k];
      sum += weight == 0 ? T(0) : weight * a.from[a.index[k]];
    }
    a.to[o] = sum;
  }
}

/// Calls f(source, first output, number of outputs) for the elements of an axis that are repeated, the usual number as
/// a constant, so that loops over it are unrolled.
template <class F>
void for_each_repeated(std::int64_t in, std::int64_t repeats, F&& f) {
  const auto loop = [&](auto count) {
    for (std::int64_t i = 0; i < in; ++i) f(i, i * count, count);
  };
  if (repeats == 2) return loop(std::integral_constant<std::int64_t, 2>());
  loop(repeats);
}

template <class T>
void gather(const ResampleArgs<T>& a) {
  if (a.inner == 1 && a.repeats > 0) {
    const T* __restrict from = a.from;
    T* __restrict to = a.to;
    return for_each_repeated(a.in, a.repeats, [&](std::int64_t i, std::int64_t first, auto count) {
      for (std::int64_t k = 0; k < count; ++k) to[first + k] = from[i];
    });
  }
  if (a.inner == 1) {
    if (a.taps == 1) return gather_row(a, std::integral_constant<std::int64_t, 1>());
    if (a.taps == 2) return gather_row(a, std::integral_constant<std::int64_t, 2>());
    if (a.taps == 4) return gather_row(a, std::integral_constant<std::int64_t, 4>());
    return gather_row(a, a.taps);
  }
  for (std::int64_t o = 0; o < a.out; ++o) {
    T* __restrict to = a.to + o * a.inner;
    bool is_first = true;
    for (std::int64_t k = o * a.taps; k < (o + 1) * a.taps; ++k) {
      const T* __restrict from = a.from + a.index[k] * a.inner;
      const T weight = a.weight[k];
      if (weight == 0) continue;
      if (is_first) {
        for (std::int64_t i = 0; i < a.inner; ++i) to[i] = weight * from[i];
      } else {
        for (std::int64_t i = 0; i < a.inner; ++i) to[i] += weight * from[i];
      }
      is_first = false;
    }
    if (is_first) std::fill_n(to, a.inner, T(0));
  }
}

template <class T>
void scatter(const ResampleArgs<T>& a) {
  if (a.inner == 1 && a.repeats > 0) {
    const T* __restrict from = a.from;
    T* __restrict to = a.to;
    return for_each_repeated(a.in, a.repeats, [&](std::int64_t i, std::int64_t first, auto count) {
      T sum = 0;
      for (std::int64_t k = 0; k < count; ++k) sum += from[first + k];
      to[i] = sum;
    });
  }
  std::fill_n(a.to, a.in * a.inner, T(0));
  for (std::int64_t o = 0; o < a.out; ++o) {
    const T* __restrict from = a.from + o * a.inner;
    for (std::int64_t k = o * a.taps; k < (o + 1) * a.taps; ++k) {
      T* __restrict to = a.to + a.index[k] * a.inner;
      const T weight = a.weight[k];
      if (weight == 0) continue;
      for (std::int64_t i = 0; i < a.inner; ++i) to[i] += weight * from[i];
    }
  }
}

}  // namespace

void fill_interpolate(InterpolateTable& table) {
  table.float32 = {&gather<float>, &scatter<float>};
  table.float64 = {&gather<double>, &scatter<double>};
}

}  // namespace lamella::cpu
