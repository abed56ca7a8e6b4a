#pragma once

#include <complex>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "engine/core/dtype.h"
#include "ops/cpu/tables/reduce.h"
#include "ops/cuda/accumulate.h"
#include "ops/simd/convert.h"

// Operations that combine two partial results. Each takes elements `In`, keeps partial results `Partial` and returns
// `Out`.

namespace lamella::cuda {

/// The lowest and the highest value of T, including infinities.
template <class T>
inline constexpr T kBottom =
    std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
template <class T>
inline constexpr T kTop =
    std::numeric_limits<T>::has_infinity ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max();

/// The type of partial sums and products of elements T, as the CPU's kernels have it.
template <class T>
struct AccumulatorOf {
  using type = cpp_type<cpu::reduce_result(cpu::Reduction::Sum, dtype_of<T>)>;
};
template <class T>
struct AccumulatorOf<std::complex<T>> {
  using type = Parts<T>;
};

template <class T>
struct SumOf {
  using In = T;
  using Partial = typename AccumulatorOf<T>::type;
  using Out = Partial;
  __device__ static Partial identity() { return {}; }
  __device__ static Partial lift(T x, std::int64_t) { return widened<Partial>(x); }
  __device__ static Partial combine(Partial a, Partial b) { return plus(a, b); }
  __device__ static Out finish(Partial x) { return x; }
};

/// Sums with NaN counted as 0.
template <class T>
struct NanSumOf : SumOf<T> {
  using typename SumOf<T>::Partial;
  __device__ static Partial lift(T x, std::int64_t) {
    const auto value = widened<Partial>(x);
    return value == value ? value : Partial(0);
  }
};

template <class T>
struct SquareSumOf : SumOf<T> {
  using typename SumOf<T>::Partial;
  __device__ static Partial lift(T x, std::int64_t) {
    const auto value = widened<Partial>(x);
    return value * value;
  }
};

template <class T>
struct ProdOf {
  using In = T;
  using Partial = typename AccumulatorOf<T>::type;
  using Out = Partial;
  __device__ static Partial identity() { return widened<Partial>(T(1)); }
  __device__ static Partial lift(T x, std::int64_t) { return widened<Partial>(x); }
  __device__ static Partial combine(Partial a, Partial b) { return times(a, b); }
  __device__ static Out finish(Partial x) { return x; }
};

/// The extreme value, or NaN if an element is NaN.
template <class T, bool kMax>
struct ExtremeOf {
  using In = T;
  using Partial = Wide<T>;
  using Out = Partial;
  __device__ static Partial identity() { return kMax ? kBottom<Partial> : kTop<Partial>; }
  __device__ static Partial lift(T x, std::int64_t) { return convert<Partial>(x); }
  __device__ static Partial combine(Partial a, Partial b) { return a != a || (kMax ? a > b : a < b) ? a : b; }
  __device__ static Out finish(Partial x) { return x; }
};

template <class T, bool kAll>
struct TruthOf {
  using In = T;
  using Partial = bool;
  using Out = bool;
  __device__ static bool identity() { return kAll; }
  __device__ static bool lift(T x, std::int64_t) { return convert<bool>(x); }
  __device__ static bool combine(bool a, bool b) { return kAll ? a && b : a || b; }
  __device__ static bool finish(bool x) { return x; }
};

template <class T>
struct CountOf {
  using In = T;
  using Partial = std::int64_t;
  using Out = std::int64_t;
  __device__ static Partial identity() { return 0; }
  __device__ static Partial lift(T x, std::int64_t) { return convert<bool>(x); }
  __device__ static Partial combine(Partial a, Partial b) { return a + b; }
  __device__ static Out finish(Partial x) { return x; }
};

template <class T>
struct Found {
  T value;
  std::int64_t at;
};

/// The position of the first NaN, or else of the first extreme element.
template <class T, bool kMax>
struct PositionOf {
  using In = T;
  using Partial = Found<Wide<T>>;
  using Out = std::int64_t;
  // Returns a value that loses against every element: a NaN wins, and of equal values the one at the lower position.
  __device__ static Partial identity() {
    return {kMax ? kBottom<Wide<T>> : kTop<Wide<T>>, std::numeric_limits<std::int64_t>::max()};
  }
  __device__ static Partial lift(T x, std::int64_t at) { return {convert<Wide<T>>(x), at}; }
  __device__ static Partial combine(Partial a, Partial b) { return comes_first(a, b) ? a : b; }
  __device__ static Out finish(Partial x) { return x.at; }

 private:
  __device__ static bool comes_first(Partial a, Partial b) {
    const bool a_nan = a.value != a.value;
    const bool b_nan = b.value != b.value;
    if (a_nan != b_nan) return a_nan;
    if (!a_nan && a.value != b.value) return kMax ? a.value > b.value : a.value < b.value;
    return a.at < b.at;
  }
};

}  // namespace lamella::cuda
