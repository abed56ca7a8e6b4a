#include "ops/cpu/tables/cross_entropy.h"

#include <algorithm>
#include <cmath>

#include "ops/cpu/stream.h"
#include "ops/nn/cpu/softmax_rows.h"

namespace lamella::cpu {
namespace {

/// Returns the term of a row from its largest element, the sum of exp(x - top) and, if smoothing is above 0, the sum of
/// x - top.
template <class T>
T term_of(T chosen, T top, T sum, T differences, std::int64_t width, T smoothing) {
  const T log_sum = std::log(sum);
  const T term = log_sum - (chosen - top);
  if (smoothing == 0) return term;
  const T even = log_sum - differences / static_cast<T>(width);
  return term * (1 - smoothing) + even * smoothing;
}

/// Returns the sum of x - top over a row.
template <class T>
T sum_of_differences(const T* x, std::int64_t width, T top) {
  Vec<T> sums(0);
  for_each_part(x, width, top, [&](std::int64_t, int, Vec<T> v) { sums += v - top; });
  return sum_lanes(sums);
}

/// Rows no longer than a vector, as many at once as it has lanes.
template <class T>
void short_forward(const T* x, const std::int64_t* numbers, T* terms, T* powers, std::int64_t rows, std::int64_t width,
                   T smoothing) {
  constexpr int kLanes = ShortRows<T>::kLanes;
  for (std::int64_t row = 0; row < rows; row += kLanes) {
    T tops[kLanes], sums[kLanes];
    ShortRows<T>(x + row * width, rows - row, width).sums(tops, sums);
    for (std::int64_t r = row; r < std::min(rows, row + kLanes); ++r) {
      const bool counts = numbers[r] >= 0;
      const T top = tops[r - row], sum = sums[r - row];
      const T* const elements = x + r * width;
      const T differences = counts && smoothing != 0 ? sum_of_differences(elements, width, top) : T(0);
      terms[r] = counts ? term_of(elements[numbers[r]], top, sum, differences, width, smoothing) : T(0);
      powers[2 * r] = top;
      powers[2 * r + 1] = sum;
    }
  }
}

template <class T>
void short_backward(const T* x, const std::int64_t* numbers, const T* powers, const T* dterms, T* dx, std::int64_t rows,
                    std::int64_t width, T smoothing) {
  constexpr int kLanes = ShortRows<T>::kLanes;
  for (std::int64_t row = 0; row < rows; row += kLanes) {
    T tops[kLanes] = {}, scales[kLanes] = {}, evens[kLanes] = {};
    const std::int64_t end = std::min(rows, row + kLanes);
    for (std::int64_t r = row; r < end; ++r) {
      tops[r - row] = powers[2 * r];
      scales[r - row] = dterms[r] / powers[2 * r + 1];
      evens[r - row] = dterms[r] * (smoothing / static_cast<T>(width));
    }
    ShortRows<T>(x + row * width, rows - row, width).scaled_powers(tops, scales, evens, dx + row * width);
    for (std::int64_t r = row; r < end; ++r) {
      T* const to = dx + r * width;
      if (numbers[r] < 0) {
        std::fill(to, to + width, T(0));
      } else {
        to[numbers[r]] -= dterms[r] * (1 - smoothing);
      }
    }
  }
}

/// Computes the term of a row that counts and its entries of `powers`. `kept`, unless null, receives exp(x - top).
template <class T>
T forward_row(const T* x, std::int64_t number, T* powers, T* kept, std::int64_t width, T smoothing) {
  const T top = max_of_row(x, width);
  const T sum = sum_of<T>(x, width, kept, Below<T>(top));
  const T differences = smoothing == 0 ? T(0) : sum_of_differences(x, width, top);
  powers[0] = top;
  powers[1] = sum;
  return term_of(x[number], top, sum, differences, width, smoothing);
}

template <class T>
void forward(const T* x, const std::int64_t* numbers, T* terms, T* powers, std::int64_t rows, std::int64_t width,
             T smoothing) {
  if (width < ShortRows<T>::kLanes) return short_forward(x, numbers, terms, powers, rows, width, smoothing);
  for (std::int64_t row = 0; row < rows; ++row, x += width, powers += 2) {
    if (numbers[row] < 0) {
      terms[row] = powers[0] = powers[1] = 0;
    } else {
      terms[row] = forward_row<T>(x, numbers[row], powers, nullptr, width, smoothing);
    }
  }
}

/// Computes dx = dterm (power(from) / sum - share of the class) for a row that counts.
template <class T, class Power>
void backward_row(const T* from, const Power& power, std::int64_t number, T sum, T dterm, T* dx, std::int64_t width,
                  T smoothing, bool streams) {
  const T scale = dterm / sum;
  const T even = dterm * (smoothing / static_cast<T>(width));
  const T chosen = dterm * (1 - smoothing);
  for_each_part(from, width, T(0), [&](std::int64_t i, int lanes, Vec<T> v) {
    Vec<T> d = power(v) * scale - even;
    if (number >= i && number < i + lanes) [[unlikely]] {
      alignas(64) T elements[Vec<T>::size];
      d.store(elements);
      elements[number - i] -= chosen;
      d = Vec<T>::load(elements);
    }
    if (streams) {
      store_past_caches(dx + i, d);
    } else {
      store(dx + i, lanes, d);
    }
  });
}

template <class T>
bool may_stream(const T* dx, std::int64_t width, bool past_caches) {
  return past_caches && in_whole_lines(dx, width * static_cast<std::int64_t>(sizeof(T)));
}

template <class T>
void backward(const T* x, const std::int64_t* numbers, const T* powers, const T* dterms, T* dx, std::int64_t rows,
              std::int64_t width, T smoothing, bool past_caches) {
  if (width < ShortRows<T>::kLanes) return short_backward(x, numbers, powers, dterms, dx, rows, width, smoothing);
  const bool streams = may_stream(dx, width, past_caches);
  for (std::int64_t row = 0; row < rows; ++row, x += width, dx += width, powers += 2) {
    if (numbers[row] < 0) {
      std::fill(dx, dx + width, T(0));
    } else {
      backward_row(x, Below<T>(powers[0]), numbers[row], powers[1], dterms[row], dx, width, smoothing, streams);
    }
  }
  if (streams) end_stream();
}

template <class T>
void at_once(const T* x, const std::int64_t* numbers, T dterm, T* terms, T* powers, T* dx, T* scratch,
             std::int64_t rows, std::int64_t width, T smoothing, bool past_caches) {
  constexpr int kLanes = ShortRows<T>::kLanes;
  if (width < kLanes) {
    T dterms[kLanes];
    std::fill(dterms, dterms + kLanes, dterm);
    for (std::int64_t row = 0; row < rows; row += kLanes) {
      const std::int64_t now = std::min<std::int64_t>(kLanes, rows - row), at = row * width;
      short_forward(x + at, numbers + row, terms + row, powers + 2 * row, now, width, smoothing);
      short_backward(x + at, numbers + row, powers + 2 * row, dterms, dx + at, now, width, smoothing);
    }
    return;
  }
  const bool streams = may_stream(dx, width, past_caches);
  T* const kept = streams ? scratch : nullptr;
  for (std::int64_t row = 0; row < rows; ++row, x += width, dx += width, powers += 2) {
    if (numbers[row] < 0) {
      terms[row] = powers[0] = powers[1] = 0;
      std::fill(dx, dx + width, T(0));
      continue;
    }
    T* const from = kept ? kept : dx;
    terms[row] = forward_row(x, numbers[row], powers, from, width, smoothing);
    backward_row(
        from, [](Vec<T> power) { return power; }, numbers[row], powers[1], dterm, dx, width, smoothing, streams);
  }
  if (streams) end_stream();
}

}  // namespace

void fill_cross_entropy(CrossEntropyTable& table) {
  table.float32 = {&forward<float>, &backward<float>, &at_once<float>};
  table.float64 = {&forward<double>, &backward<double>, &at_once<double>};
}

}  // namespace lamella::cpu
