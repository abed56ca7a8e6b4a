#include "ops/cpu/distance_table.h"

#include <algorithm>
#include <cmath>
#include <concepts>

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

template <class T>
void distances(const T* a, const T* b, T* out, std::int64_t count, std::int64_t width, double p) {
  const auto each = [&]<class Op>(Op, const auto& lift, const auto& finish) {
    for (std::int64_t j = 0; j < count; ++j) out[j] = finish(norm_of_difference<Op>(a, b + j * width, width, lift));
  };
  const auto same = [](T x) { return x; };
  if (p == 0) {
    each(Added<T>(), NotZero(), same);
  } else if (p == 1) {
    each(Added<T>(), Magnitude(), same);
  } else if (p == 2) {
    each(Added<T>(), Squared(), [](T x) { return std::sqrt(x); });
  } else if (std::isinf(p)) {
    each(Largest<T>(), Magnitude(), same);
  } else {
    each(Added<T>(), Raised<T>{static_cast<T>(p)}, [&](T x) { return std::pow(x, static_cast<T>(1 / p)); });
  }
}

}  // namespace

void fill_distance(DistanceTable& table) {
  table.float32 = distances<float>;
  table.float64 = distances<double>;
}

}  // namespace lamella::cpu
