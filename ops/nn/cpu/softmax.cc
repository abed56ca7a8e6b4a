#include "ops/cpu/tables/softmax.h"

#include <algorithm>
#include <cmath>

#include "ops/cpu/stream.h"
#include "ops/nn/cpu/softmax_rows.h"

namespace lamella::cpu {
namespace {

using simd::Vec;

template <class T>
void softmax_rows(const T* x, T* y, std::int64_t rows, std::int64_t width, bool log, bool past_caches) {
  if (width < ShortRows<T>::kLanes) {
    for (std::int64_t row = 0; row < rows; row += ShortRows<T>::kLanes) {
      ShortRows<T>(x + row * width, rows - row, width).softmax(y + row * width, log);
    }
    return;
  }
  constexpr std::int64_t kBlock = 16384 / sizeof(T);  // half of the L1 cache
  alignas(64) T block[kBlock];
  const bool streams =
      past_caches && width <= kBlock && in_whole_lines(y, width * static_cast<std::int64_t>(sizeof(T)));
  for (std::int64_t row = 0; row < rows; ++row, x += width, y += width) {
    // The largest element is subtracted first: exp never overflows, and the sum is at least 1.
    const T top = max_of_row(x, width);
    if (log) {
      const T shift = std::log(sum_of<T>(x, width, nullptr, Below<T>(top)));
      store_row(y, width, streams, x, [&](Vec<T> v) { return (v - top) - shift; });
    } else {
      T* const kept = streams ? block : y;
      const T sum = NearlyBelow<T>::fits(top) ? sum_of(x, width, kept, NearlyBelow<T>(top))
                                              : sum_of(x, width, kept, Below<T>(top));
      const T scale = 1 / sum;
      store_row<T>(y, width, streams, kept, [&](Vec<T> v) { return v * scale; });
    }
  }
  if (streams) end_stream();
}

template <class T>
void log_sum_exp_rows(const T* x, T* y, std::int64_t rows, std::int64_t width) {
  if (width <= ShortRows<T>::kLanes) {
    for (std::int64_t row = 0; row < rows; row += ShortRows<T>::kLanes) {
      ShortRows<T>(x + row * width, rows - row, width).log_sum_exp(y + row);
    }
    return;
  }
  for (std::int64_t row = 0; row < rows; ++row, x += width) {
    const T top = max_of_row(x, width);
    if (std::isfinite(top)) {
      y[row] = std::log(sum_of<T>(x, width, nullptr, Below<T>(top))) + top;
    } else {
      // An infinite maximum is not subtracted: inf - inf would be NaN.
      y[row] = std::log(sum_of<T>(x, width, nullptr, [](Vec<T> v) { return exp(v); }));
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

/// Returns the number of terms summed before the partial sum is added to the total, which keeps the rounding error
/// small.
std::int64_t run_length(std::int64_t terms) {
  return std::max<std::int64_t>(64, std::llround(std::sqrt(static_cast<double>(terms))));
}

/// N vectors of neighboring columns, so that a cache line or more of each row is used at once.
template <class T, int N>
struct Columns {
  std::int64_t stride;
  int columns;

  /// Returns the first column of vector k; the last vector overlaps the one before it if the columns do not fill it.
  std::int64_t column(int k) const { return k + 1 < N || N == 1 ? k * Vec<T>::size : columns - Vec<T>::size; }
  bool is_whole() const { return N > 1 || columns == Vec<T>::size; }
  Vec<T> load(const T* row, int k) const {
    return is_whole() ? Vec<T>::load(row + column(k)) : Vec<T>::load_partial(row, columns, T(0));
  }
  void store(T* row, int k, Vec<T> value) const {
    cpu::store(row + column(k), is_whole() ? Vec<T>::size : columns, value);
  }

  /// Sums term(row number, k) over `width` rows.
  template <class F>
  void add_up(std::int64_t width, Vec<T>* totals, F&& term) const {
    for (int k = 0; k < N; ++k) totals[k] = 0;
    const std::int64_t length = run_length(width);
    for (std::int64_t first = 0; first < width; first += length) {
      const std::int64_t last = std::min(width, first + length);
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
    if (log_of) {
      for (int k = 0; k < N; ++k) sums[k] = log(sums[k]);
      for (std::int64_t w = 0; w < width; ++w) {
        for (int k = 0; k < N; ++k) store(y + w * stride, k, (load(x + w * stride, k) - top[k]) - sums[k]);
      }
    } else {
      for (int k = 0; k < N; ++k) sums[k] = 1 / sums[k];
      for (std::int64_t w = 0; w < width; ++w) {
        Vec<T> powers[N];
        for (int k = 0; k < N; ++k) powers[k] = load(y + w * stride, k);
        for (int k = 0; k < N; ++k) store(y + w * stride, k, powers[k] * sums[k]);
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
  for (; c + kWide * kLanes <= columns; c += kWide * kLanes) f(Columns<T, kWide>{stride, kWide * kLanes}, c);
  const auto rest = static_cast<int>(columns - c);
  // Extends the block to columns that are done already, which are computed again from the input.
  if (c > 0 && rest > 0 && rest < kLanes) return f(Columns<T, 1>{stride, kLanes}, columns - kLanes);
  const int vectors = (rest + kLanes - 1) / kLanes;
  [&]<int... I>(std::integer_sequence<int, I...>) {
    ((vectors == I + 1 ? f(Columns<T, I + 1>{stride, rest}, c) : void()), ...);
  }(std::make_integer_sequence<int, kWide>());
}

/// A few adjacent columns: a vector holds as many whole rows as fit. The remaining lanes belong to the next row and are
/// written again with it.
template <class T>
class NarrowColumns {
 public:
  using V = Vec<T>;

  NarrowColumns(std::int64_t width, std::int64_t columns)
      : columns_(static_cast<int>(columns)), taken_(V::size / columns_ * columns_), n_(width * columns) {}

  /// Computes the softmax or its logarithm; y must not be x.
  void forward(const T* x, T* y, bool log_of) const {
    constexpr T kLowest = -std::numeric_limits<T>::infinity();
    V top = kLowest;
    for_each_part([&](std::int64_t at, int lanes) { top = larger(load(x + at, lanes, kLowest), top); });
    top = over_rows(top, kLowest, larger<T>);
    const V sum = sum_of([&](std::int64_t at, int lanes) {
      const V e = exp(load(x + at, lanes, kLowest) - top);
      if (!log_of) cpu::store(y + at, lanes, e);
      return e;
    });
    if (log_of) {
      const V shift = log(sum);
      for_each_part(
          [&](std::int64_t at, int lanes) { cpu::store(y + at, lanes, (load(x + at, lanes, T(0)) - top) - shift); });
    } else {
      // The lanes that the next vector reads are multiplied by 1.
      const V scale = first_lanes(1 / sum, T(1));
      std::int64_t begin = 0;
      if (n_ >= V::size) {
        // Each vector is loaded before the previous one is stored; loading it afterwards would wait for two overlapping
        // stores.
        V here = V::load(y);
        for (; begin + taken_ + V::size <= n_; begin += taken_) {
          const V next = V::load(y + begin + taken_);
          (here * scale).store(y + begin);
          here = next;
        }
      }
      for_each_part([&](std::int64_t at, int lanes) { cpu::store(y + at, lanes, load(y + at, lanes, T(0)) * scale); },
                    begin);
    }
  }

  /// Computes the gradient; dx must be neither y nor dy.
  void backward(const T* y, const T* dy, T* dx, bool log_of) const {
    const V sum = sum_of([&](std::int64_t at, int lanes) {
      const V d = load(dy + at, lanes, T(0));
      return log_of ? d : d * load(y + at, lanes, T(0));
    });
    for_each_part([&](std::int64_t at, int lanes) {
      const V p = load(y + at, lanes, T(0));
      const V d = load(dy + at, lanes, T(0));
      cpu::store(dx + at, lanes, log_of ? d - exp(p) * sum : p * (d - sum));
    });
  }

 private:
  static V load(const T* from, int lanes, T pad) {
    return lanes == V::size ? V::load(from) : V::load_partial(from, lanes, pad);
  }

  /// Calls f(offset of a vector, number of its lanes) for all rows from `at` on.
  template <class F>
  void for_each_part(F&& f, std::int64_t at = 0) const {
    for (; at + V::size <= n_; at += taken_) f(at, V::size);
    for (; at < n_; at += taken_) f(at, static_cast<int>(std::min<std::int64_t>(taken_, n_ - at)));
  }

  /// Replaces the lanes beyond the whole rows by `pad`.
  V first_lanes(V v, T pad) const {
    T lanes[V::size];
    v.store(lanes);
    std::fill(lanes + taken_, lanes + V::size, pad);
    return V::load(lanes);
  }

  /// Combines the rows of a vector, giving every row the result.
  template <class F>
  V over_rows(V v, T neutral, F&& f) const {
    T lanes[V::size];
    first_lanes(v, neutral).store(lanes);
    V result(neutral);
    for (int first = 0; first < taken_; first += columns_) {
      // Rotates the lanes so that each row in turn is the first one.
      T turned[V::size];
      for (int i = 0; i < V::size; ++i) turned[i] = lanes[first + i % columns_];
      result = f(result, V::load(turned));
    }
    return result;
  }

  /// Sums term() down the columns.
  template <class F>
  V sum_of(F&& term) const {
    const std::int64_t length = run_length(n_ / taken_);
    V total(0);
    V run(0);
    std::int64_t terms = 0;
    for_each_part([&](std::int64_t at, int lanes) {
      run += term(at, lanes);
      if (++terms < length) return;
      total += run;
      run = 0;
      terms = 0;
    });
    return over_rows(total + run, T(0), [](V a, V b) { return a + b; });
  }

  int columns_;
  int taken_;  // number of lanes of whole rows
  std::int64_t n_;
};

/// True if a vector holds a row of `columns` elements, and there are enough rows to pay for the fixed cost.
template <class T>
bool is_narrow(std::int64_t width, std::int64_t columns, std::int64_t stride) {
  return columns == stride && columns <= Vec<T>::size && width * columns >= 8 * Vec<T>::size;
}

template <class T>
void softmax_columns(const T* x, T* y, std::int64_t width, std::int64_t columns, std::int64_t stride, bool log) {
  if (is_narrow<T>(width, columns, stride)) return NarrowColumns<T>(width, columns).forward(x, y, log);
  for_each_block<T>(columns, stride, [&](auto block, std::int64_t c) { block.forward(x + c, y + c, width, log); });
}

template <class T>
void softmax_columns_backward(const T* y, const T* dy, T* dx, std::int64_t width, std::int64_t columns,
                              std::int64_t stride, bool log) {
  if (is_narrow<T>(width, columns, stride)) return NarrowColumns<T>(width, columns).backward(y, dy, dx, log);
  for_each_block<T>(columns, stride,
                    [&](auto block, std::int64_t c) { block.backward(y + c, dy + c, dx + c, width, log); });
}

}  // namespace

void fill_softmax(SoftmaxTable& table) {
  table.float32 = {&softmax_rows<float>, &softmax_rows_backward<float>, &softmax_columns<float>,
                   &softmax_columns_backward<float>, &log_sum_exp_rows<float>};
  table.float64 = {&softmax_rows<double>, &softmax_rows_backward<double>, &softmax_columns<double>,
                   &softmax_columns_backward<double>, &log_sum_exp_rows<double>};
}

}  // namespace lamella::cpu
