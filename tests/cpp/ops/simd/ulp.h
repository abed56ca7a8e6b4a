#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

namespace lamella::testing {

/// Type in which a reference for `T` is computed.
template <class T>
using Wide = std::conditional_t<std::is_same_v<T, float>, double, long double>;

/// Returns the distance of `got` from `exact`, in units of the last place of `exact` in `T`. Infinite if one is NaN and
/// the other is not, if a zero has the wrong sign, and if `got` is infinite and `exact` far from it.
template <class T>
double ulps(T got, Wide<T> exact) {
  constexpr double kWrong = std::numeric_limits<double>::infinity();
  using Limits = std::numeric_limits<T>;
  if (std::isnan(exact) || std::isnan(got)) return std::isnan(exact) && std::isnan(got) ? 0 : kWrong;
  if (std::signbit(got) != std::signbit(exact)) return kWrong;
  if (exact == 0 || std::isinf(exact)) return got == exact ? 0 : kWrong;
  // Infinity counts as the number after the largest.
  const auto finite = [](Wide<T> x) {
    return std::isinf(static_cast<T>(x)) ? std::copysign(std::ldexp(Wide<T>{1}, Limits::max_exponent), x) : x;
  };
  const Wide<T> reference = finite(exact);
  const int exponent = std::max(std::ilogb(reference) + 1 - Limits::digits, Limits::min_exponent - Limits::digits);
  return static_cast<double>(std::abs(std::ldexp(finite(got) - reference, -exponent)));
}

template <class T>
T from_bits(std::uint64_t bits) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  const Bits narrow = static_cast<Bits>(bits);
  T value;
  std::memcpy(&value, &narrow, sizeof value);
  return value;
}

/// Returns zeros, denormals, limits, infinities, NaN, and the ends of the ranges of exp.
template <class T>
std::vector<T> special_values() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> values;
  for (double x : {0.0,   0.25,  0.5,    1.0,   1.5,    2.0,    2.5,   3.0,   10.0,  87.0,  88.0,   88.38,
                   88.72, 88.73, 89.0,   103.0, 103.9,  104.0,  127.0, 128.0, 150.0, 709.0, 709.78, 709.79,
                   710.0, 745.0, 745.13, 746.0, 1023.0, 1024.0, 1e10,  1e30,  1e-10, 1e-30}) {
    values.push_back(static_cast<T>(x));
  }
  for (T x : {Limits::denorm_min(), Limits::min(), Limits::max(), Limits::infinity(), Limits::epsilon(),
              std::nextafter(T{1}, T{2}), std::nextafter(T{1}, T{0}), std::nextafter(Limits::min(), T{0})}) {
    values.push_back(x);
  }
  for (std::size_t i = 0, n = values.size(); i < n; ++i) values.push_back(-values[i]);
  values.push_back(Limits::quiet_NaN());
  return values;
}

/// Returns the special values, `n` random bit patterns and 2 `n` numbers of a usual size.
template <class T>
std::vector<T> sample_values(int n) {
  std::vector<T> values = special_values<T>();
  std::mt19937_64 random(7);
  std::uniform_real_distribution<T> unit(-1, 1);
  for (int i = 0; i < n; ++i) {
    values.push_back(from_bits<T>(random()));
    values.push_back(std::ldexp(unit(random), static_cast<int>(random() % 16) - 10));
    values.push_back(unit(random) * T{100});
  }
  return values;
}

}  // namespace lamella::testing
