#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "ops/simd/vec.h"
#include "tests/cpp/ops/simd/ulp.h"

namespace {

using lamella::simd::Vec;
using lamella::testing::sample_values;
using lamella::testing::special_values;
using lamella::testing::ulps;
using lamella::testing::Wide;

template <class T>
struct Unary {
  const char* name;
  Vec<T> (*apply)(Vec<T>);
  Wide<T> (*reference)(Wide<T>);
  double limit;
};

template <class T>
struct Binary {
  const char* name;
  Vec<T> (*apply)(Vec<T>, Vec<T>);
  Wide<T> (*reference)(Wide<T>, Wide<T>);
  double limit;
};

template <class W>
W sigmoid_reference(W x) {
  return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
}

template <class W>
W sign_reference(W x) {
  return std::isnan(x) ? x : static_cast<W>((x > 0) - (x < 0));
}

/// Lists functions with their error bounds in ulp: 0.5 is rounding to nearest; 4 is what the library promises of the
/// others.
template <class T>
std::vector<Unary<T>> unary_functions() {
  using V = Vec<T>;
  using W = Wide<T>;
  return {
      {"abs", [](V x) { return abs(x); }, [](W x) { return std::abs(x); }, 0},
      {"negative", [](V x) { return negative(x); }, [](W x) { return -x; }, 0},
      {"sign", [](V x) { return sign(x); }, sign_reference<W>, 0},
      {"floor", [](V x) { return floor(x); }, [](W x) { return std::floor(x); }, 0},
      {"ceil", [](V x) { return ceil(x); }, [](W x) { return std::ceil(x); }, 0},
      {"trunc", [](V x) { return trunc(x); }, [](W x) { return std::trunc(x); }, 0},
      {"round", [](V x) { return round(x); }, [](W x) { return std::nearbyint(x); }, 0},
      {"square", [](V x) { return square(x); }, [](W x) { return x * x; }, 0.5},
      {"reciprocal", [](V x) { return reciprocal(x); }, [](W x) { return 1 / x; }, 0.5001},
      {"sqrt", [](V x) { return sqrt(x); }, [](W x) { return std::sqrt(x); }, 0.5001},
      {"exp", [](V x) { return exp(x); }, [](W x) { return std::exp(x); }, 4},
      {"exp2", [](V x) { return exp2(x); }, [](W x) { return std::exp2(x); }, 4},
      {"expm1", [](V x) { return expm1(x); }, [](W x) { return std::expm1(x); }, 4},
      {"log", [](V x) { return log(x); }, [](W x) { return std::log(x); }, 4},
      {"log1p", [](V x) { return log1p(x); }, [](W x) { return std::log1p(x); }, 4},
      {"log2", [](V x) { return log2(x); }, [](W x) { return std::log2(x); }, 4},
      {"log10", [](V x) { return log10(x); }, [](W x) { return std::log10(x); }, 4},
      {"sin", [](V x) { return sin(x); }, [](W x) { return std::sin(x); }, 4},
      {"cos", [](V x) { return cos(x); }, [](W x) { return std::cos(x); }, 4},
      {"tan", [](V x) { return tan(x); }, [](W x) { return std::tan(x); }, 4},
      {"asin", [](V x) { return asin(x); }, [](W x) { return std::asin(x); }, 4},
      {"acos", [](V x) { return acos(x); }, [](W x) { return std::acos(x); }, 4},
      {"atan", [](V x) { return atan(x); }, [](W x) { return std::atan(x); }, 4},
      {"sinh", [](V x) { return sinh(x); }, [](W x) { return std::sinh(x); }, 4},
      {"cosh", [](V x) { return cosh(x); }, [](W x) { return std::cosh(x); }, 4},
      {"tanh", [](V x) { return tanh(x); }, [](W x) { return std::tanh(x); }, 4},
      {"asinh", [](V x) { return asinh(x); }, [](W x) { return std::asinh(x); }, 4},
      {"acosh", [](V x) { return acosh(x); }, [](W x) { return std::acosh(x); }, 4},
      {"atanh", [](V x) { return atanh(x); }, [](W x) { return std::atanh(x); }, 4},
      {"erf", [](V x) { return erf(x); }, [](W x) { return std::erf(x); }, 4},
      {"erfc", [](V x) { return erfc(x); }, [](W x) { return std::erfc(x); }, 4},
      {"sigmoid", [](V x) { return sigmoid(x); }, sigmoid_reference<W>, 4},
  };
}

template <class T>
std::vector<Binary<T>> binary_functions() {
  using V = Vec<T>;
  using W = Wide<T>;
  return {
      {"pow", [](V x, V y) { return pow(x, y); }, [](W x, W y) { return std::pow(x, y); }, 4},
      {"atan2", [](V x, V y) { return atan2(x, y); }, [](W x, W y) { return std::atan2(x, y); }, 4},
      {"hypot", [](V x, V y) { return hypot(x, y); }, [](W x, W y) { return std::hypot(x, y); }, 4},
      {"copysign", [](V x, V y) { return copysign(x, y); }, [](W x, W y) { return std::copysign(x, y); }, 0},
      {"fmod", [](V x, V y) { return fmod(x, y); }, [](W x, W y) { return std::fmod(x, y); }, 0},
  };
}

template <class T>
class Math : public ::testing::Test {};
using FloatTypes = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Math, FloatTypes);

TYPED_TEST(Math, UnaryFunctionsAreAccurate) {
  using T = TypeParam;
  const std::vector<T> values = sample_values<T>(20000);
  for (const Unary<T>& function : unary_functions<T>()) {
    int failures = 0;
    for (std::size_t i = 0; i < values.size() && failures < 5; i += Vec<T>::size) {
      const int n = static_cast<int>(std::min<std::size_t>(Vec<T>::size, values.size() - i));
      const Vec<T> got = function.apply(Vec<T>::load_partial(&values[i], n, 1));
      for (int lane = 0; lane < n; ++lane) {
        const T x = values[i + lane];
        const Wide<T> exact = function.reference(x);
        const double error = ulps<T>(got[lane], exact);
        if (error > function.limit) {
          ++failures;
          ADD_FAILURE() << function.name << '(' << x << ") = " << got[lane] << ", " << error << " ulp from " << exact;
        }
      }
    }
  }
}

TYPED_TEST(Math, BinaryFunctionsAreAccurate) {
  using T = TypeParam;
  const std::vector<T> values = sample_values<T>(20000);
  std::vector<T> left = values;
  std::vector<T> right(values.rbegin(), values.rend());
  for (T x : special_values<T>()) {
    for (T y : special_values<T>()) {
      left.push_back(x);
      right.push_back(y);
    }
  }
  for (const Binary<T>& function : binary_functions<T>()) {
    int failures = 0;
    for (std::size_t i = 0; i < left.size() && failures < 5; i += Vec<T>::size) {
      const int n = static_cast<int>(std::min<std::size_t>(Vec<T>::size, left.size() - i));
      const Vec<T> got = function.apply(Vec<T>::load_partial(&left[i], n, 1), Vec<T>::load_partial(&right[i], n, 1));
      for (int lane = 0; lane < n; ++lane) {
        const T x = left[i + lane];
        const T y = right[i + lane];
        const Wide<T> exact = function.reference(x, y);
        const double error = ulps<T>(got[lane], exact);
        if (error > function.limit) {
          ++failures;
          ADD_FAILURE() << function.name << '(' << x << ", " << y << ") = " << got[lane] << ", " << error
                        << " ulp from " << exact;
        }
      }
    }
  }
}

/// Expects the same bits, or NaN for both.
template <class T>
void expect_same(T alone, T among, const char* function, T x) {
  EXPECT_TRUE(std::memcmp(&alone, &among, sizeof alone) == 0 || (std::isnan(alone) && std::isnan(among)))
      << function << " of " << x << " is " << alone << " alone and " << among << " among others";
}

/// Checks that a lane does not depend on the others: a tensor is cut differently by each number of threads, and its
/// tail is padded.
TYPED_TEST(Math, ALaneDoesNotDependOnItsNeighbors) {
  using T = TypeParam;
  using V = Vec<T>;
  const std::vector<T> values = sample_values<T>(2000);
  const std::vector<T> around = special_values<T>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const int at = static_cast<int>(i % V::size);
    T x[V::size];
    T y[V::size];
    for (int lane = 0; lane < V::size; ++lane) {
      x[lane] = around[(i + lane) % around.size()];
      y[lane] = around[(i / 3 + lane) % around.size()];
    }
    x[at] = values[i];
    y[at] = values[values.size() - 1 - i];
    for (const Unary<T>& function : unary_functions<T>()) {
      expect_same(function.apply(V(x[at]))[at], function.apply(V::load(x))[at], function.name, x[at]);
    }
    for (const Binary<T>& function : binary_functions<T>()) {
      expect_same(function.apply(V(x[at]), V(y[at]))[at], function.apply(V::load(x), V::load(y))[at], function.name,
                  x[at]);
    }
  }
}

/// Checks the special values that Python and numpy users rely on, one by one.
TYPED_TEST(Math, SpecialValues) {
  using T = TypeParam;
  using V = Vec<T>;
  constexpr T kInf = std::numeric_limits<T>::infinity();
  constexpr bool kFloat = std::is_same_v<T, float>;
  EXPECT_EQ(exp(V(-kInf))[0], T{0});
  EXPECT_EQ(exp(V(kInf))[0], kInf);
  EXPECT_TRUE(std::isfinite(exp(V(kFloat ? 88.72 : 709.78))[0]));
  EXPECT_EQ(exp(V(kFloat ? 88.73 : 709.79))[0], kInf);
  EXPECT_GT(exp(V(kFloat ? -103 : -745))[0], T{0});
  EXPECT_EQ(exp(V(kFloat ? -104 : -746))[0], T{0});
  EXPECT_EQ(log(V(0))[0], -kInf);
  EXPECT_TRUE(std::isnan(log(V(-1))[0]));
  EXPECT_TRUE(std::isnan(sqrt(V(-1))[0]));
  EXPECT_EQ(tanh(V(kInf))[0], T{1});
  EXPECT_EQ(tanh(V(-kInf))[0], T{-1});
  EXPECT_EQ(sigmoid(V(-kInf))[0], T{0});
  EXPECT_EQ(sigmoid(V(kInf))[0], T{1});
  EXPECT_EQ(pow(V(0), 0)[0], T{1});
  EXPECT_EQ(pow(V(-2), 3)[0], T{-8});
  EXPECT_EQ(pow(V(0), -1)[0], kInf);
  EXPECT_TRUE(std::isnan(pow(V(-2), 0.5)[0]));
  EXPECT_EQ(round(V(0.5))[0], T{0});
  EXPECT_EQ(round(V(1.5))[0], T{2});
  EXPECT_EQ(round(V(-2.5))[0], T{-2});
}

}  // namespace
