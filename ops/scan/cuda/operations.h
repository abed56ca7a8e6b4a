#pragma once

#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "ops/cpu/tables/scan.h"
#include "ops/cuda/accumulate.h"
#include "ops/cuda/any_dtype.h"
#include "ops/scan/log_sum_exp.h"
#include "ops/simd/keys.h"

// The operations of scans. Each has the type of a part of a scan, what an element contributes, how two neighboring
// parts combine, and what is written. Elements are computed with in the widest type of their kind, so that one kernel
// serves several dtypes.

namespace lamella::cuda {

/// The tensors of a scan in memory.
struct ScanData {
  const void* x;
  /// Addends of a recurrence.
  const void* added;
  void* out;
  /// Receives the extremes; null if they are not wanted.
  void* values;
  DType dtype;
};

/// Returns the i-th element of an array in the type in which it is carried: floats as double, integers as unsigned
/// ones, which wrap.
template <class C>
__device__ C carried(DType dtype, const void* from, std::int64_t i) {
  C value{};
  if constexpr (std::is_same_v<C, double>) {
    read_element<Floating>(dtype, from, i, [&](double element) { value = element; });
  } else if constexpr (std::is_integral_v<C>) {
    read_element<Integral | Boolean>(dtype, from, i, [&](auto element) { value = static_cast<C>(element); });
  } else {
    read_element<Complex>(dtype, from, i, [&](std::complex<double> z) { value = {z.real(), z.imag()}; });
  }
  return value;
}

/// Returns a real number in the type in which elements are carried.
template <class C>
__device__ C number(double x) {
  if constexpr (std::is_arithmetic_v<C>) {
    return static_cast<C>(x);
  } else {
    return {x, 0};
  }
}

/// Returns x 2^n.
__device__ inline double times_power(double x, int n) { return std::scalbn(x, n); }
__device__ inline Parts<double> times_power(Parts<double> z, int n) {
  return {std::scalbn(z.real, n), std::scalbn(z.imaginary, n)};
}

template <class C>
__device__ void write_carried(DType dtype, C value, void* to, std::int64_t i) {
  if constexpr (std::is_integral_v<C>) {
    static_cast<C*>(to)[i] = value;
  } else if constexpr (std::is_same_v<C, double>) {
    write_element<Floating>(dtype, value, to, i);
  } else {
    write_element<Complex>(dtype, std::complex<double>(value.real, value.imaginary), to, i);
  }
}

/// A scan whose parts are numbers.
template <class C>
struct NumberScan {
  using Part = C;
  __device__ static Part lift(const ScanData& data, std::int64_t at, std::int64_t) {
    return carried<C>(data.dtype, data.x, at);
  }
  __device__ static void write(const ScanData& data, Part part, std::int64_t at, std::int64_t, std::int64_t) {
    write_carried(data.dtype, part, data.out, at);
  }
};

template <class C>
struct SumScan : NumberScan<C> {
  __device__ static C identity() { return C{}; }
  __device__ static C combine(C a, C b) { return a + b; }
};

/// A product with an exponent of its own: m 2^e. Products of parts of a row may be out of range where those of whole
/// rows are not, as behind a zero.
template <class C>
struct Scaled {
  C m;
  std::int64_t e;
};

/// Returns m 2^e with m (its larger part, of a complex number) from 0.5 to 1, unless it is 0, infinite or NaN.
template <class C>
__device__ Scaled<C> scaled(C m, std::int64_t e) {
  double size = 0;
  if constexpr (std::is_same_v<C, double>) {
    size = std::fabs(m);
  } else {
    size = std::fmax(std::fabs(m.real), std::fabs(m.imaginary));
  }
  if (!(size > 0 && size <= std::numeric_limits<double>::max())) return {m, 0};
  int exponent = 0;
  static_cast<void>(std::frexp(size, &exponent));
  return {times_power(m, -exponent), e + exponent};
}
template <class C>
__device__ Scaled<C> product(Scaled<C> a, Scaled<C> b) {
  return scaled(a.m * b.m, a.e + b.e);
}
template <class C>
__device__ C unscaled(Scaled<C> x) {
  constexpr std::int64_t kMost = 4096;  // far beyond the range of a double
  return times_power(x.m, static_cast<int>(x.e < -kMost ? -kMost : x.e > kMost ? kMost : x.e));
}

/// Integers, whose products wrap.
template <class C>
struct ProdScan : NumberScan<C> {
  __device__ static C identity() { return 1; }
  __device__ static C combine(C a, C b) { return a * b; }
};

template <class C>
struct ScaledProdScan {
  using Part = Scaled<C>;
  __device__ static Part identity() { return {number<C>(1), 0}; }
  __device__ static Part lift(const ScanData& data, std::int64_t at, std::int64_t) {
    return scaled(carried<C>(data.dtype, data.x, at), 0);
  }
  __device__ static Part combine(Part a, Part b) { return product(a, b); }
  __device__ static void write(const ScanData& data, Part part, std::int64_t at, std::int64_t, std::int64_t) {
    write_carried(data.dtype, unscaled(part), data.out, at);
  }
};

template <class C>
struct LogSumExpScan : NumberScan<C> {
  static constexpr double kLogOfZero = -std::numeric_limits<double>::infinity();
  __device__ static C identity() { return number<C>(kLogOfZero); }
  __device__ static C combine(C a, C b) {
    if constexpr (std::is_same_v<C, double>) {
      return log_add_exp(a, b);
    } else {
      const auto sum = log_add_exp(std::complex<double>(a.real, a.imaginary), {b.real, b.imaginary});
      return {sum.real(), sum.imag()};
    }
  }
};

/// The map y -> factor y + added.
template <class C>
struct Step {
  Scaled<C> factor;
  C added;
};

/// y_i = b_i + a_i y_(i-1). Parts of a row are maps, which are applied one after another.
template <class C>
struct RecurrenceScan {
  using Part = Step<C>;
  __device__ static Part identity() { return {{number<C>(1), 0}, C{}}; }
  __device__ static Part lift(const ScanData& data, std::int64_t at, std::int64_t i) {
    // The first element's factor does not count: the product would be NaN for an infinite factor.
    return {scaled(i == 0 ? C{} : carried<C>(data.dtype, data.x, at), 0), carried<C>(data.dtype, data.added, at)};
  }
  __device__ static Part combine(Part a, Part b) {
    // Nothing before: an infinite factor times 0 would be NaN.
    if (is_identity(a)) return b;
    return {product(b.factor, a.factor), b.added + unscaled(Scaled<C>{b.factor.m * a.added, b.factor.e})};
  }
  __device__ static void write(const ScanData& data, Part part, std::int64_t at, std::int64_t, std::int64_t) {
    write_carried(data.dtype, part.added, data.out, at);
  }

 private:
  /// Other parts have factors below 1, because they are scaled.
  __device__ static bool is_identity(Part a) {
    if constexpr (std::is_same_v<C, double>) {
      return a.factor.m == 1 && a.added == 0;
    } else {
      return a.factor.m.real == 1 && a.factor.m.imaginary == 0 && a.added.real == 0 && a.added.imaginary == 0;
    }
  }
};

/// The element that is the extreme one, by a key that is largest for it.
struct Extreme {
  std::uint64_t key;
  std::int64_t i;
};

/// Positions of extremes, the last one of equal elements. NaN replaces every number, and only another NaN replaces it.
template <bool kMax>
struct ExtremeScan {
  using Part = Extreme;
  __device__ static Part identity() { return {0, -1}; }
  __device__ static Part lift(const ScanData& data, std::int64_t at, std::int64_t i) {
    Part part{0, i};
    visit_on_device<Real | Boolean>(data.dtype, [&]<class T>() {
      const T x = element_at<T>(data.x, at);
      const std::uint64_t key = sorting::key_of(x);
      part.key = sorting::is_nan(x) ? ~std::uint64_t{0} : kMax ? key : ~key;
    });
    return part;
  }
  __device__ static Part combine(Part a, Part b) { return b.i >= 0 && b.key >= a.key ? b : a; }
  /// `origin` is the index in memory of the row's first element, and `step` the distance of its neighbors.
  __device__ static void write(const ScanData& data, Part part, std::int64_t at, std::int64_t origin,
                               std::int64_t step) {
    static_cast<std::int64_t*>(data.out)[at] = part.i;
    if (!data.values) return;
    visit_on_device<Real | Boolean>(data.dtype, [&]<class T>() {
      static_cast<T*>(data.values)[at] = element_at<T>(data.x, origin + part.i * step);
    });
  }
};

}  // namespace lamella::cuda
