#include "ops/cpu/tables/norm.h"
#include "ops/cpu/lanes.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "ops/cpu/stream.h"
#include "ops/nn/cpu/next_row.h"
#include "ops/simd/vec.h"

namespace lamella::cpu {
namespace {

using simd::Vec;

template <class T>
Vec<T> load(const T* from, int lanes, T pad) {
  return lanes == Vec<T>::size ? Vec<T>::load(from) : Vec<T>::load_partial(from, lanes, pad);
}

template <class T>
void store(T* to, int lanes, Vec<T> value) {
  if (lanes == Vec<T>::size) {
    value.store(to);
  } else {
    value.store_partial(to, lanes);
  }
}

/// Calls f(i, lanes) for each vector of [0, n).
template <class T, class F>
void for_each_part(std::int64_t n, F&& f) {
  constexpr int kLanes = Vec<T>::size;
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) f(i, kLanes);
  if (i < n) f(i, static_cast<int>(n - i));
}

/// Sums f(i, lanes, sums), which adds to kSums vectors, over [0, n). Short runs are summed in T, and their totals in
/// double, so that the error does not grow with n.
template <int kSums, class T, class F>
void sum_parts(std::int64_t n, double (&total)[kSums], F&& f) {
  constexpr int kLanes = Vec<T>::size;
  constexpr int kUnrolled = 4;  // independent additions
  constexpr std::int64_t kRun = 64 * kUnrolled * kLanes;
  for (double& sum : total) sum = 0;
  for (std::int64_t begin = 0; begin < n; begin += kRun) {
    const std::int64_t end = begin + kRun < n ? begin + kRun : n;
    Vec<T> sums[kUnrolled][kSums];
    for (auto& row : sums) {
      for (Vec<T>& sum : row) sum = Vec<T>(0);
    }
    std::int64_t i = begin;
    for (; i + kUnrolled * kLanes <= end; i += kUnrolled * kLanes) {
      for (int k = 0; k < kUnrolled; ++k) f(i + k * kLanes, kLanes, sums[k]);
    }
    for (; i + kLanes <= end; i += kLanes) f(i, kLanes, sums[0]);
    if (i < end) f(i, static_cast<int>(end - i), sums[1]);
    for (int k = 0; k < kSums; ++k)
      total[k] += static_cast<double>(sum_lanes((sums[0][k] + sums[1][k]) + (sums[2][k] + sums[3][k])));
  }
}

template <class T>
double mean_of(const T* x, std::int64_t n) {
  double total[1];
  sum_parts<1, T>(n, total, [&](std::int64_t i, int lanes, Vec<T>* sums) { sums[0] += load(x + i, lanes, T(0)); });
  return total[0] / static_cast<double>(n);
}

/// Mean and mean square of the distances from a center.
struct Spread {
  double mean;
  double square;
};

template <class T>
Spread spread_around(const T* x, std::int64_t n, T center) {
  const NextRow<T> next(n);
  double total[2];
  sum_parts<2, T>(n, total, [&](std::int64_t i, int lanes, Vec<T>* sums) {
    next.fetch(x, i);
    const Vec<T> distance = load(x + i, lanes, center) - center;
    sums[0] += distance;
    sums[1] += distance * distance;
  });
  return {total[0] / static_cast<double>(n), total[1] / static_cast<double>(n)};
}

/// Computes, in a type of a wider range, the spread around the mean, or around 0, of rows whose squares are beyond T's.
template <class T>
Spread wide_spread(const T* x, std::int64_t n, bool centered, double eps, double* inverse) {
  using Wide = std::conditional_t<std::is_same_v<T, float>, double, long double>;
  Wide total = 0;
  for (std::int64_t i = 0; i < n; ++i) total += static_cast<Wide>(x[i]);
  const Wide mean = centered ? total / static_cast<Wide>(n) : 0;
  Wide squares = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const Wide apart = static_cast<Wide>(x[i]) - mean;
    squares += apart * apart;
  }
  const Wide square = squares / static_cast<Wide>(n);
  *inverse = static_cast<double>(1 / std::sqrt(square + static_cast<Wide>(eps)));
  return {static_cast<double>(mean), static_cast<double>(square)};
}

template <class T>
void rows_forward(const T* x, const T* w, const T* b, T* y, T* mean, T* rstd, std::int64_t rows, std::int64_t width,
                  double eps, bool centered, bool past_caches) {
  constexpr int kLanes = Vec<T>::size;
  const bool streams = past_caches && in_whole_lines(y, width * static_cast<std::int64_t>(sizeof(T)));
  for (std::int64_t row = 0; row < rows; ++row, x += width, y += width) {
    T center = centered ? static_cast<T>(mean_of(x, width)) : T(0);
    const Spread spread = spread_around(x, width, center);
    double rest = centered ? spread.mean : 0;
    // No number, and so measured widely, if both squares are infinite.
    const double about_mean = spread.square - rest * rest;
    const double variance = about_mean < 0 ? 0 : about_mean;
    double inverse = 1 / std::sqrt(variance + eps);
    constexpr auto kLeast = static_cast<double>(std::numeric_limits<T>::min() / std::numeric_limits<T>::epsilon());
    if (!(variance + eps > kLeast && variance < std::numeric_limits<double>::infinity())) [[unlikely]] {
      const Spread wide = wide_spread(x, width, centered, eps, &inverse);
      center = static_cast<T>(wide.mean);
      rest = wide.mean - static_cast<double>(center);
    }
    const T scale = static_cast<T>(inverse);
    const T shift = static_cast<T>(-rest * inverse);  // corrects for the rounding of the center
    mean[row] = center;
    rstd[row] = scale;
    const auto write = [&](auto&& finish) {
      const auto result = [&](std::int64_t i, int lanes) {
        return finish(i, lanes, (load(x + i, lanes, T(0)) - center) * scale + shift);
      };
      if (streams) {
        for (std::int64_t i = 0; i < width; i += kLanes) store_past_caches(y + i, result(i, kLanes));
      } else {
        for_each_part<T>(width, [&](std::int64_t i, int lanes) { store(y + i, lanes, result(i, lanes)); });
      }
    };
    if (w && b) {
      write(
          [&](std::int64_t i, int lanes, Vec<T> v) { return v * load(w + i, lanes, T(0)) + load(b + i, lanes, T(0)); });
    } else if (w) {
      write([&](std::int64_t i, int lanes, Vec<T> v) { return v * load(w + i, lanes, T(0)); });
    } else if (b) {
      write([&](std::int64_t i, int lanes, Vec<T> v) { return v + load(b + i, lanes, T(0)); });
    } else {
      write([](std::int64_t, int, Vec<T> v) { return v; });
    }
  }
  if (streams) end_stream();
}

/// With g = dy w and h = (x - mean) rstd: dx = rstd (g - mean(g) - h mean(g h)), dw = sum(dy h), db = sum(dy).
template <class T>
void rows_backward(const T* x, const T* dy, const T* w, const T* mean, const T* rstd, T* dx, T* dw, T* db,
                   std::int64_t rows, std::int64_t width, bool centered) {
  const NextRow<T> next(width);
  for (std::int64_t row = 0; row < rows; ++row, x += width, dy += width, dx += width) {
    const T center = mean[row];
    const T scale = rstd[row];
    const auto normal = [&](std::int64_t i, int lanes) { return (load(x + i, lanes, center) - center) * scale; };
    const auto weighted = [&](std::int64_t i, int lanes) {
      const Vec<T> v = load(dy + i, lanes, T(0));
      return w ? v * load(w + i, lanes, T(0)) : v;
    };
    double total[3];
    sum_parts<3, T>(width, total, [&](std::int64_t i, int lanes, Vec<T>* sums) {
      const Vec<T> g = weighted(i, lanes);
      const Vec<T> h = normal(i, lanes);
      sums[0] += g;
      sums[1] += g * h;
      sums[2] += h;
    });
    // The mean of h would be 0, but for the rounding of the center.
    const double h_mean = centered ? total[2] / static_cast<double>(width) : 0;
    const T off = static_cast<T>(h_mean);
    const T g_mean = centered ? static_cast<T>(total[0] / static_cast<double>(width)) : T(0);
    const T gh_mean = static_cast<T>((total[1] - h_mean * total[0]) / static_cast<double>(width));
    for_each_part<T>(width, [&](std::int64_t i, int lanes) {
      next.fetch(x, i);
      next.fetch(dy, i);
      const Vec<T> h = normal(i, lanes) - off;
      store(dx + i, lanes, (weighted(i, lanes) - g_mean - h * gh_mean) * scale);
      if (dw) store(dw + i, lanes, load(dw + i, lanes, T(0)) + load(dy + i, lanes, T(0)) * h);
      if (db) store(db + i, lanes, load(db + i, lanes, T(0)) + load(dy + i, lanes, T(0)));
    });
  }
}

template <class T>
void plane_scale_shift(const T* x, const T* center, const T* scale, const T* shift, T* y, std::int64_t planes,
                       std::int64_t size) {
  for (std::int64_t plane = 0; plane < planes; ++plane, x += size, y += size) {
    const Vec<T> middle(center[plane]);
    const Vec<T> a(scale[plane]);
    const Vec<T> c(shift[plane]);
    for_each_part<T>(
        size, [&](std::int64_t i, int lanes) { store(y + i, lanes, (load(x + i, lanes, T(0)) - middle) * a + c); });
  }
}

template <class T>
void plane_dots(const T* x, const T* dy, const double* center, const double* rstd, double* sum, double* dot,
                std::int64_t planes, std::int64_t size) {
  for (std::int64_t plane = 0; plane < planes; ++plane, x += size, dy += size) {
    const T rounded = static_cast<T>(center[plane]);
    const T scale = static_cast<T>(rstd[plane]);
    double total[2];
    sum_parts<2, T>(size, total, [&](std::int64_t i, int lanes, Vec<T>* sums) {
      const Vec<T> g = load(dy + i, lanes, T(0));
      sums[0] += g;
      sums[1] += g * ((load(x + i, lanes, rounded) - rounded) * scale);
    });
    sum[plane] = total[0];
    dot[plane] = total[1] - (center[plane] - static_cast<double>(rounded)) * rstd[plane] * total[0];
  }
}

template <class T>
void plane_combine(const T* x, const T* center, const T* rstd, const T* dy, const T* a, const T* b, const T* c, T* dx,
                   std::int64_t planes, std::int64_t size) {
  for (std::int64_t plane = 0; plane < planes; ++plane, x += size, dy += size, dx += size) {
    const Vec<T> middle(center[plane]);
    const Vec<T> by_dy(a[plane]);
    const Vec<T> scale(rstd[plane]);
    const Vec<T> by_h(b[plane]);
    const Vec<T> constant(c[plane]);
    for_each_part<T>(size, [&](std::int64_t i, int lanes) {
      const Vec<T> h = (load(x + i, lanes, T(0)) - middle) * scale;
      store(dx + i, lanes, load(dy + i, lanes, T(0)) * by_dy + h * by_h + constant);
    });
  }
}

template <class T>
constexpr NormKernels<T> kKernels{&rows_forward<T>, &rows_backward<T>, &plane_scale_shift<T>, &plane_dots<T>,
                                  &plane_combine<T>};

}  // namespace

void fill_norm(NormTable& table) {
  table.float32 = kKernels<float>;
  table.float64 = kKernels<double>;
}

}  // namespace lamella::cpu
