#include "ops/cpu/softmax_table.h"

#include <cmath>
#include <limits>

#include "ops/simd/vec.h"

namespace lamella::cpu {
namespace {

using simd::Vec;

/// Calls f(i, vector) for each part of a row; the lanes behind its end hold `pad`.
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

template <class T>
T sum_lanes(Vec<T> v) {
  // As a tree, like every sum here.
  T lanes[Vec<T>::size];
  v.store(lanes);
  for (int width = Vec<T>::size / 2; width > 0; width /= 2) {
    for (int i = 0; i < width; ++i) lanes[i] += lanes[i + width];
  }
  return lanes[0];
}

template <class T>
T max_of_row(const T* x, std::int64_t width) {
  constexpr T kLowest = -std::numeric_limits<T>::infinity();
  Vec<T> largest(kLowest);
  for_each_part(x, width, kLowest, [&](std::int64_t, int, Vec<T> v) { largest = maximum(largest, v); });
  T result = kLowest;
  for (int i = 0; i < Vec<T>::size; ++i) result = largest[i] != largest[i] || largest[i] > result ? largest[i] : result;
  return result;
}

template <class T>
void softmax_rows(const T* x, T* y, std::int64_t rows, std::int64_t width, bool log) {
  constexpr T kLowest = -std::numeric_limits<T>::infinity();
  for (std::int64_t row = 0; row < rows; ++row, x += width, y += width) {
    const T top = max_of_row(x, width);
    // The largest element is taken off first: exp never overflows, and the sum is at least 1.
    Vec<T> sums(0);
    for_each_part(x, width, kLowest, [&](std::int64_t i, int lanes, Vec<T> v) {
      const Vec<T> e = exp(v - top);
      sums += e;
      if (!log) store(y + i, lanes, e);
    });
    const T sum = sum_lanes(sums);
    if (log) {
      const T shift = std::log(sum);
      for_each_part(x, width, kLowest,
                    [&](std::int64_t i, int lanes, Vec<T> v) { store(y + i, lanes, (v - top) - shift); });
    } else {
      const T scale = 1 / sum;
      for_each_part(y, width, T(0), [&](std::int64_t i, int lanes, Vec<T> v) { store(y + i, lanes, v * scale); });
    }
  }
}

template <class T>
void softmax_rows_backward(const T* y, const T* dy, T* dx, std::int64_t rows, std::int64_t width, bool log) {
  for (std::int64_t row = 0; row < rows; ++row, y += width, dy += width, dx += width) {
    Vec<T> sums(0);
    const auto y_part = [&](std::int64_t i, int lanes) {
      return lanes == Vec<T>::size ? Vec<T>::load(y + i) : Vec<T>::load_partial(y + i, lanes, T(0));
    };
    for_each_part(dy, width, T(0),
                  [&](std::int64_t i, int lanes, Vec<T> v) { sums += log ? v : v * y_part(i, lanes); });
    const T sum = sum_lanes(sums);
    for_each_part(dy, width, T(0), [&](std::int64_t i, int lanes, Vec<T> v) {
      const Vec<T> p = y_part(i, lanes);
      store(dx + i, lanes, log ? v - exp(p) * sum : p * (v - sum));
    });
  }
}

}  // namespace

void fill_softmax(SoftmaxTable& table) {
  table.float32 = {&softmax_rows<float>, &softmax_rows_backward<float>};
  table.float64 = {&softmax_rows<double>, &softmax_rows_backward<double>};
}

}  // namespace lamella::cpu
