#include "ops/cpu/softmax_table.h"

#include <algorithm>
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

/// The larger one, b where a is NaN.
template <class T>
Vec<T> larger(Vec<T> a, Vec<T> b) {
  return Vec<T>(simd::native_math::extreme<true>(a.native(), b.native()));
}

/// Of the numbers: with a NaN among the elements the sum of exponentials is NaN, whatever is taken off.
template <class T>
T max_of_row(const T* x, std::int64_t width) {
  constexpr int kLanes = Vec<T>::size;
  constexpr int kChains = 4;  // as one waits for each of its steps
  constexpr T kLowest = -std::numeric_limits<T>::infinity();
  Vec<T> largest[kChains];
  for (Vec<T>& chain : largest) chain = kLowest;
  std::int64_t i = 0;
  for (; i + kChains * kLanes <= width; i += kChains * kLanes) {
    for (int k = 0; k < kChains; ++k) largest[k] = larger(Vec<T>::load(x + i + k * kLanes), largest[k]);
  }
  for (; i + kLanes <= width; i += kLanes) largest[0] = larger(Vec<T>::load(x + i), largest[0]);
  T lanes[kLanes];
  larger(larger(largest[0], largest[1]), larger(largest[2], largest[3])).store(lanes);
  T result = kLowest;
  for (const T lane : lanes) result = lane > result ? lane : result;
  for (; i < width; ++i) result = x[i] > result ? x[i] : result;
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

/// A few vectors of neighboring columns: a cache line or more of each row is used at once.
template <class T, int N>
struct Columns {
  static constexpr std::int64_t kRun = 64;  // terms added before they go into the total: the error stays small
  std::int64_t stride;
  int lanes;  ///< of the last vector; less than a whole one only where N is 1

  Vec<T> load(const T* row, int k) const {
    return lanes == Vec<T>::size ? Vec<T>::load(row + k * Vec<T>::size) : Vec<T>::load_partial(row, lanes, T(0));
  }
  void store(T* row, int k, Vec<T> value) const { cpu::store(row + k * Vec<T>::size, lanes, value); }

  /// The sums over `width` rows of term(row number, k).
  template <class F>
  void add_up(std::int64_t width, Vec<T>* totals, F&& term) const {
    for (int k = 0; k < N; ++k) totals[k] = 0;
    for (std::int64_t first = 0; first < width; first += kRun) {
      const std::int64_t last = std::min(width, first + kRun);
      Vec<T> run[N];
      for (int k = 0; k < N; ++k) run[k] = 0;
      for (std::int64_t w = first; w < last; ++w) {
        for (int k = 0; k < N; ++k) run[k] += term(w, k);
      }
      for (int k = 0; k < N; ++k) totals[k] += run[k];
    }
  }

  void forward(const T* x, T* y, std::int64_t width, bool log_of) const {
    Vec<T> top[N];
    Vec<T> sums[N];
    for (int k = 0; k < N; ++k) top[k] = -std::numeric_limits<T>::infinity();
    for (std::int64_t w = 0; w < width; ++w) {
      for (int k = 0; k < N; ++k) top[k] = larger(load(x + w * stride, k), top[k]);
    }
    add_up(width, sums, [&](std::int64_t w, int k) {
      const Vec<T> e = exp(load(x + w * stride, k) - top[k]);
      if (!log_of) store(y + w * stride, k, e);
      return e;
    });
    for (int k = 0; k < N; ++k) sums[k] = log_of ? log(sums[k]) : 1 / sums[k];
    for (std::int64_t w = 0; w < width; ++w) {
      for (int k = 0; k < N; ++k) {
        store(y + w * stride, k,
              log_of ? (load(x + w * stride, k) - top[k]) - sums[k] : load(y + w * stride, k) * sums[k]);
      }
    }
  }

  void backward(const T* y, const T* dy, T* dx, std::int64_t width, bool log_of) const {
    Vec<T> sums[N];
    add_up(width, sums, [&](std::int64_t w, int k) {
      const Vec<T> d = load(dy + w * stride, k);
      return log_of ? d : d * load(y + w * stride, k);
    });
    for (std::int64_t w = 0; w < width; ++w) {
      for (int k = 0; k < N; ++k) {
        const Vec<T> p = load(y + w * stride, k);
        const Vec<T> d = load(dy + w * stride, k);
        store(dx + w * stride, k, log_of ? d - exp(p) * sums[k] : p * (d - sums[k]));
      }
    }
  }
};

/// Calls f(block, first column) for blocks that cover all columns.
template <class T, class F>
void for_each_block(std::int64_t columns, std::int64_t stride, F&& f) {
  constexpr int kLanes = Vec<T>::size;
  constexpr int kWide = 4;
  std::int64_t c = 0;
  for (; c + kWide * kLanes <= columns; c += kWide * kLanes) f(Columns<T, kWide>{stride, kLanes}, c);
  for (; c < columns; c += kLanes)
    f(Columns<T, 1>{stride, static_cast<int>(std::min<std::int64_t>(kLanes, columns - c))}, c);
}

template <class T>
void softmax_columns(const T* x, T* y, std::int64_t width, std::int64_t columns, std::int64_t stride, bool log) {
  for_each_block<T>(columns, stride, [&](auto block, std::int64_t c) { block.forward(x + c, y + c, width, log); });
}

template <class T>
void softmax_columns_backward(const T* y, const T* dy, T* dx, std::int64_t width, std::int64_t columns,
                              std::int64_t stride, bool log) {
  for_each_block<T>(columns, stride,
                    [&](auto block, std::int64_t c) { block.backward(y + c, dy + c, dx + c, width, log); });
}

}  // namespace

void fill_softmax(SoftmaxTable& table) {
  table.float32 = {&softmax_rows<float>, &softmax_rows_backward<float>, &softmax_columns<float>,
                   &softmax_columns_backward<float>};
  table.float64 = {&softmax_rows<double>, &softmax_rows_backward<double>, &softmax_columns<double>,
                   &softmax_columns_backward<double>};
}

}  // namespace lamella::cpu
