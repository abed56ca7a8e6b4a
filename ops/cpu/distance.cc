#include "ops/cpu/distance_table.h"

#include <algorithm>
#include <cmath>
#include <concepts>
#include <type_traits>

#include "ops/cpu/reduce_loops.h"
#include "ops/simd/vec_functions.h"

namespace lamella::cpu {
namespace {

// What a difference gives, as a number or in a vector.
struct NotZero {
  template <class T>
  Vec<T> operator()(Vec<T> d) const {
    return where(d != Vec<T>(0), Vec<T>(1), Vec<T>(0));
  }
  template <std::floating_point T>
  T operator()(T d) const {
    return d != 0;
  }
};
struct Magnitude {
  template <class T>
  Vec<T> operator()(Vec<T> d) const {
    return abs(d);
  }
  template <std::floating_point T>
  T operator()(T d) const {
    return std::abs(d);
  }
};
struct Squared {
  template <class X>
  X operator()(X d) const {
    return d * d;
  }
};
template <class T>
struct Raised {
  T exponent;
  Vec<T> operator()(Vec<T> d) const { return pow(abs(d), Vec<T>(exponent)); }
  T operator()(T d) const { return std::pow(std::abs(d), exponent); }
};

// How two of them are combined.
template <class T>
struct Added {
  template <class X>
  static X combine(X a, X b) {
    return a + b;
  }
};
template <class T>
struct Largest {
  static Vec<T> combine(Vec<T> a, Vec<T> b) { return maximum(a, b); }
  static T combine(T a, T b) { return ((b > a) | (b != b)) ? b : a; }
};

template <class Op, class T, class Lift>
T norm_of_difference(const T* a, const T* b, std::int64_t width, const Lift& lift) {
  T total = 0;
  for (std::int64_t first = 0; first < width; first += kReduceBlock) {
    const std::int64_t n = std::min(kReduceBlock, width - first);
    const T* const x = a + first;
    const T* const y = b + first;
    T part = 0;
    std::int64_t i = reduce_vectors<Op, 1>(
        n, &part, [&](std::int64_t at) { return lift(Vec<T>::load(x + at) - Vec<T>::load(y + at)); });
    for (; i < n; ++i) part = Op::combine(part, lift(x[i] - y[i]));
    total = Op::combine(total, part);
  }
  return total;
}

/// Rows up to here are no work for vectors along them: a vector takes the same element of several rows of b.
constexpr std::int64_t kShortRow = 32;

/// For short rows: how a distance is added up depends on neither its place nor its neighbors.
template <class Op, class T, class Lift, class Finish>
void short_rows(const T* a, std::int64_t rows, const T* b, T* out, std::int64_t count, std::int64_t width,
                const Lift& lift, const Finish& finish) {
  using V = simd::Vec<T>;
  constexpr int kVectors = 4;
  constexpr std::int64_t kTile = std::int64_t{kVectors} * V::size;
  T tile[kShortRow * kTile];  // rows of b as columns
  for (std::int64_t first = 0; first < count; first += kTile) {
    const std::int64_t n = std::min(kTile, count - first);
    for (std::int64_t k = 0; k < width; ++k) {
      for (std::int64_t j = 0; j < n; ++j) tile[k * kTile + j] = b[(first + j) * width + k];
      std::fill(tile + k * kTile + n, tile + (k + 1) * kTile, T(0));
    }
    for (std::int64_t r = 0; r < rows; ++r) {
      V total[kVectors];
      for (V& part : total) part = V(0);
      for (std::int64_t k = 0; k < width; ++k) {
        const V element(a[r * width + k]);
        for (int v = 0; v < kVectors; ++v)
          total[v] = Op::combine(total[v], lift(element - V::load(tile + k * kTile + v * V::size)));
      }
      T* const to = out + r * count + first;
      if (n == kTile) {
        for (int v = 0; v < kVectors; ++v) finish(total[v]).store(to + v * V::size);
      } else {
        T some[kTile];
        for (int v = 0; v < kVectors; ++v) finish(total[v]).store(some + v * V::size);
        std::copy_n(some, n, to);
      }
    }
  }
}

template <class T>
void distances(const T* a, std::int64_t rows, const T* b, T* out, std::int64_t count, std::int64_t width, double p) {
  const auto each = [&]<class Op>(Op, const auto& lift, const auto& finish) {
    if (width <= kShortRow) return short_rows<Op>(a, rows, b, out, count, width, lift, finish);
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t j = 0; j < count; ++j)
        out[r * count + j] = finish(norm_of_difference<Op>(a + r * width, b + j * width, width, lift));
    }
  };
  const auto same = [](auto x) { return x; };
  if (p == 0) {
    each(Added<T>(), NotZero(), same);
  } else if (p == 1) {
    each(Added<T>(), Magnitude(), same);
  } else if (p == 2) {
    each(Added<T>(), Squared(), [](auto x) {
      using std::sqrt;
      return sqrt(x);
    });
  } else if (std::isinf(p)) {
    each(Largest<T>(), Magnitude(), same);
  } else {
    const auto root = static_cast<T>(1 / p);
    each(Added<T>(), Raised<T>{static_cast<T>(p)}, [root](auto x) {
      using std::pow;
      return pow(x, decltype(x)(root));
    });
  }
}

struct Sign {
  template <class T>
  Vec<T> operator()(Vec<T> d) const {
    // What is neither, 0 or NaN, as it is.
    return where(d > Vec<T>(0), Vec<T>(1), where(d < Vec<T>(0), Vec<T>(-1), d));
  }
  template <std::floating_point T>
  T operator()(T d) const {
    return d > 0 ? T(1) : d < 0 ? T(-1) : d;
  }
};
struct Difference {
  template <class X>
  X operator()(X d) const {
    return d;
  }
};

/// Rows whose terms are added up before they are added to the total, which keeps rounding errors small.
constexpr std::int64_t kRowBlock = 256;

/// Columns [begin, begin + kVectors vectors), or one number where X is T.
template <int kVectors, class X, class T, class Lift>
void weighted_columns(const T* a, const T* b, const T* weights, std::int64_t step, T* out, std::int64_t count,
                      std::int64_t width, const Lift& lift) {
  constexpr bool kScalar = std::is_same_v<X, T>;
  constexpr std::int64_t kSize = kScalar ? 1 : simd::Vec<T>::size;
  const auto load = [](const T* from) {
    if constexpr (kScalar) {
      return *from;
    } else {
      return X::load(from);
    }
  };
  X from[kVectors];
  X total[kVectors];
  for (int v = 0; v < kVectors; ++v) {
    from[v] = load(a + v * kSize);
    total[v] = X(T(0));
  }
  for (std::int64_t first = 0; first < count; first += kRowBlock) {
    const std::int64_t last = std::min(count, first + kRowBlock);
    X part[kVectors];
    for (int v = 0; v < kVectors; ++v) part[v] = X(T(0));
    for (std::int64_t j = first; j < last; ++j) {
      const X weight(weights[j * step]);
      for (int v = 0; v < kVectors; ++v) part[v] = part[v] + weight * lift(from[v] - load(b + j * width + v * kSize));
    }
    for (int v = 0; v < kVectors; ++v) total[v] = total[v] + part[v];
  }
  for (int v = 0; v < kVectors; ++v) {
    if constexpr (kScalar) {
      out[v] = total[v];
    } else {
      total[v].store(out + v * kSize);
    }
  }
}

template <class T>
void gradient(const T* a, const T* b, const T* weights, std::int64_t step, T* out, std::int64_t count,
              std::int64_t width, bool signs) {
  const auto each = [&](const auto& lift) {
    constexpr std::int64_t kSize = simd::Vec<T>::size;
    constexpr int kWide = 4;
    std::int64_t k = 0;
    for (; k + kWide * kSize <= width; k += kWide * kSize) {
      weighted_columns<kWide, simd::Vec<T>>(a + k, b + k, weights, step, out + k, count, width, lift);
    }
    for (; k + kSize <= width; k += kSize) {
      weighted_columns<1, simd::Vec<T>>(a + k, b + k, weights, step, out + k, count, width, lift);
    }
    for (; k < width; ++k) weighted_columns<1, T>(a + k, b + k, weights, step, out + k, count, width, lift);
  };
  signs ? each(Sign()) : each(Difference());
}

}  // namespace

void fill_distance(DistanceTable& table) {
  table.float32 = {distances<float>, gradient<float>};
  table.float64 = {distances<double>, gradient<double>};
}

}  // namespace lamella::cpu
