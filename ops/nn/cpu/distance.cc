#include "ops/cpu/tables/distance.h"

#include <algorithm>
#include <cmath>
#include <concepts>
#include <limits>
#include <type_traits>

#include "ops/cpu/fused.h"
#include "ops/reduce/cpu/loops.h"
#include "ops/reduce/norm_range.h"

namespace lamella::cpu {
namespace {

// Functors that lift a difference, as a number or a vector.
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

/// The larger of two lifted differences, as an operation of reduce_vectors().
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

/// Returns the distance of two rows, `step` elements apart in b, where powers of differences are beyond the range of
/// numbers.
template <class T>
T scaled_distance(const T* a, const T* b, std::int64_t step, std::int64_t width, double p) {
  ScaledNorm norm(p);
  const auto magnitude = [&](std::int64_t k) {
    return std::abs(static_cast<double>(a[k]) - static_cast<double>(b[k * step]));
  };
  for (std::int64_t k = 0; k < width; ++k) norm.measure(magnitude(k));
  for (std::int64_t k = 0; k < width; ++k) norm.add(magnitude(k));
  return static_cast<T>(norm.result());
}

/// True if the powers behind a distance may be beyond the range of numbers.
template <class T>
class Lost {
 public:
  explicit Lost(double p) {
    if (p == 0 || p == 1 || std::isinf(p)) return;
    constexpr auto kLeast = static_cast<double>(std::numeric_limits<T>::min() / std::numeric_limits<T>::epsilon());
    least_ = static_cast<T>(std::pow(kLeast, 1 / p) * 1.01);
    most_ = std::numeric_limits<T>::max();
  }
  bool operator()(T distance) const { return distance < least_ || distance > most_; }

 private:
  T least_ = 0;
  T most_ = std::numeric_limits<T>::infinity();
};

/// Calls run(op, lift, finish) with the functors of norm p: how differences are lifted and combined, and how the result
/// is finished.
template <class T, class Run>
void with_norm(double p, const Run& run) {
  const auto same = [](auto x) { return x; };
  if (p == 0) {
    run(Added(), NotZero(), same);
  } else if (p == 1) {
    run(Added(), Magnitude(), same);
  } else if (p == 2) {
    run(Added(), Squared(), [](auto x) {
      using std::sqrt;
      return sqrt(x);
    });
  } else if (std::isinf(p)) {
    run(Largest<T>(), Magnitude(), same);
  } else {
    const auto root = static_cast<T>(1 / p);
    run(Added(), Raised<T>{static_cast<T>(p)}, [root](auto x) {
      using std::pow;
      return pow(x, decltype(x)(root));
    });
  }
}

template <class T>
void distances(const T* a, const T* b, T* out, std::int64_t count, std::int64_t width, double p) {
  with_norm<T>(p, [&]<class Op>(Op, const auto& lift, const auto& finish) {
    for (std::int64_t j = 0; j < count; ++j) out[j] = finish(norm_of_difference<Op>(a, b + j * width, width, lift));
  });
  const Lost<T> lost(p);
  for (std::int64_t j = 0; j < count; ++j) {
    if (lost(out[j])) out[j] = scaled_distance(a, b + j * width, 1, width, p);
  }
}

/// Combines add(k, part) over k < count, in blocks of `block` terms, which keeps the rounding error small.
template <class Op, class V, int kVectors, class Add>
void in_blocks(std::int64_t count, std::int64_t block, V (&total)[kVectors], const Add& add) {
  for (V& sum : total) sum = V(0);
  for (std::int64_t first = 0; first < count; first += block) {
    const std::int64_t end = std::min(count, first + block);
    V part[kVectors];
    for (V& sum : part) sum = V(0);
    for (std::int64_t k = first; k < end; ++k) add(k, part);
    for (int v = 0; v < kVectors; ++v) total[v] = Op::combine(total[v], part[v]);
  }
}

/// Computes kVectors vectors of distances from one row; a vector holds the same element of several rows of b.
template <class Op, int kVectors, class T, class Lift, class Finish>
void distances_across(const T* row, const T* columns, std::int64_t stride, T* out, std::int64_t width, const Lift& lift,
                      const Finish& finish) {
  using V = simd::Vec<T>;
  V total[kVectors];
  in_blocks<Op>(width, 16, total, [&](std::int64_t k, V(&part)[kVectors]) {
    const V element(row[k]);
    for (int v = 0; v < kVectors; ++v) {
      const V d = element - V::load(columns + k * stride + v * V::size);
      if constexpr (std::is_same_v<Lift, Squared>) {
        part[v] = multiply_add(d, d, part[v]);
      } else {
        part[v] = Op::combine(part[v], lift(d));
      }
    }
  });
  for (int v = 0; v < kVectors; ++v) finish(total[v]).store(out + v * V::size);
}

/// The last vector overlaps the one before it, and some distances are computed twice: the order of additions in a
/// distance does not depend on its position.
template <class T>
void short_distances(const T* a, std::int64_t rows, const T* columns, std::int64_t stride, T* out, std::int64_t count,
                     std::int64_t width, double p) {
  constexpr std::int64_t kLanes = simd::Vec<T>::size;
  with_norm<T>(p, [&]<class Op>(Op, const auto& lift, const auto& finish) {
    const auto in_vectors = [&]<int kVectors>(std::integral_constant<int, kVectors>) {
      constexpr std::int64_t kTile = kVectors * kLanes;
      for (std::int64_t next = 0; next < count; next += kTile) {
        const std::int64_t j = std::min(next, count - kTile);
        for (std::int64_t r = 0; r < rows; ++r) {
          distances_across<Op, kVectors>(a + r * width, columns + j, stride, out + r * count + j, width, lift, finish);
        }
      }
    };
    if (count >= 4 * kLanes) return in_vectors(std::integral_constant<int, 4>());
    if (count >= kLanes) return in_vectors(std::integral_constant<int, 1>());
    T few[kShortRow * kLanes] = {};
    for (std::int64_t k = 0; k < width; ++k) std::copy_n(columns + k * stride, count, few + k * kLanes);
    for (std::int64_t r = 0; r < rows; ++r) {
      T some[kLanes];
      distances_across<Op, 1>(a + r * width, few, kLanes, some, width, lift, finish);
      std::copy_n(some, count, out + r * count);
    }
  });
  const Lost<T> lost(p);
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t j = 0; j < count; ++j) {
      T& distance = out[r * count + j];
      if (lost(distance)) distance = scaled_distance(a + r * width, columns + j, stride, width, p);
    }
  }
}

struct Sign {
  template <class T>
  Vec<T> operator()(Vec<T> d) const {
    // 0 and NaN stay as they are.
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

/// Returns the sums over the rows of weights times lifted differences between `from` and the columns that load(row, v)
/// returns.
template <int kVectors, class T, class Load, class Lift>
void weighted_columns(const simd::Vec<T> (&from)[kVectors], const T* weights, std::int64_t step, std::int64_t count,
                      const Load& load, const Lift& lift, simd::Vec<T> (&total)[kVectors]) {
  using V = simd::Vec<T>;
  in_blocks<Added>(count, 256, total, [&](std::int64_t j, V(&part)[kVectors]) {
    const V weight(weights[j * step]);
    for (int v = 0; v < kVectors; ++v) part[v] = part[v] + weight * lift(from[v] - load(j, v));
  });
}

template <class T>
void gradient(const T* a, const T* b, const T* weights, std::int64_t step, T* out, std::int64_t count,
              std::int64_t width, bool signs) {
  using V = simd::Vec<T>;
  const auto each = [&](const auto& lift) {
    std::int64_t k = 0;
    const auto whole = [&]<int kVectors>(std::integral_constant<int, kVectors>) {
      for (; k + kVectors * V::size <= width; k += kVectors * V::size) {
        V from[kVectors];
        V total[kVectors];
        for (int v = 0; v < kVectors; ++v) from[v] = V::load(a + k + v * V::size);
        const auto load = [&](std::int64_t j, int v) { return V::load(b + j * width + k + v * V::size); };
        weighted_columns(from, weights, step, count, load, lift, total);
        for (int v = 0; v < kVectors; ++v) total[v].store(out + k + v * V::size);
      }
    };
    whole(std::integral_constant<int, 4>());
    whole(std::integral_constant<int, 1>());
    if (k == width) return;
    // The lanes beyond the remaining columns hold the next row's elements, which are ignored; the last rows must not be
    // read beyond their end.
    const auto rest = static_cast<int>(width - k);
    const std::int64_t end = count * width - V::size;
    const V from[1] = {V::load_partial(a + k, rest, T(0))};
    V total[1];
    const auto load = [&](std::int64_t j, int) {
      const std::int64_t at = j * width + k;
      return at <= end ? V::load(b + at) : V::load_partial(b + at, rest, T(0));
    };
    weighted_columns(from, weights, step, count, load, lift, total);
    total[0].store_partial(out + k, rest);
  };
  signs ? each(Sign()) : each(Difference());
}

}  // namespace

void fill_distance(DistanceTable& table) {
  table.float32 = {distances<float>, short_distances<float>, gradient<float>};
  table.float64 = {distances<double>, short_distances<double>, gradient<double>};
}

}  // namespace lamella::cpu
