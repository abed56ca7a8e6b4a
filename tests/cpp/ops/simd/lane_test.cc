#include "ops/simd/lane.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "ops/simd/vec.h"
#include "tests/cpp/ops/simd/ulp.h"

namespace {

using lamella::simd::Lane;
using lamella::simd::LaneMask;
using lamella::simd::Vec;
using lamella::testing::sample_values;
using lamella::testing::ulps;
using lamella::testing::Wide;

/// Returns the results of operations that are rounded correctly, or not at all.
template <class X>
std::vector<X> exact_operations(const X& x, const X& y) {
  return {x + y,
          x - y,
          x * y,
          x / y,
          -x,
          abs(x),
          sign(x),
          sqrt(x),
          floor(x),
          ceil(x),
          trunc(x),
          round(x),
          maximum(x, y),
          minimum(x, y),
          copysign(x, y),
          fmod(x, y),
          floor_divide(x, y),
          remainder(x, y),
          where((x > 0) & !(y == 1), x, y),
          where((x <= y) | (y >= 100), 1, 0.1),
          where((x < 0) ^ (y != 2), x, 2),
          where(isnan(x) | isinf(y), 1, 2),
          where(isfinite(x), y, 2)};
}

template <class T>
class LaneFloat : public ::testing::Test {};
using FloatTypes = ::testing::Types<float, double>;
TYPED_TEST_SUITE(LaneFloat, FloatTypes);

TYPED_TEST(LaneFloat, LiteralsRoundToTheElementType) {
  using L = Lane<TypeParam>;
  const L x = TypeParam{3};
  static_assert(std::is_same_v<decltype(0.1 * x), L>);
  static_assert(std::is_same_v<decltype(x > 0), LaneMask<TypeParam>>);
  EXPECT_EQ((0.1 * x).value(), static_cast<TypeParam>(0.1) * TypeParam{3});
  EXPECT_EQ(where(x > 0, 1, 0).value(), TypeParam{1});
  EXPECT_EQ(maximum(x, 5).value(), TypeParam{5});
  EXPECT_EQ(pow(x, 2).value(), TypeParam{9});
}

TYPED_TEST(LaneFloat, AgreesWithVec) {
  using T = TypeParam;
  const std::vector<T> values = sample_values<T>(500);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const T x = values[i];
    const T y = values[(7 * i + 3) % values.size()];
    const std::vector<Lane<T>> lanes = exact_operations(Lane<T>(x), Lane<T>(y));
    const std::vector<Vec<T>> vecs = exact_operations(Vec<T>(x), Vec<T>(y));
    for (std::size_t k = 0; k < lanes.size(); ++k) {
      const T lane = lanes[k].value();
      const T vec = vecs[k][0];
      EXPECT_TRUE(std::isnan(lane) ? std::isnan(vec) : lane == vec && std::signbit(lane) == std::signbit(vec))
          << "operation " << k << " of " << x << " and " << y << ": " << lane << " and " << vec;
    }
  }
}

TYPED_TEST(LaneFloat, FunctionsAreThoseOfTheElementType) {
  using T = TypeParam;
  using L = Lane<T>;
  using W = Wide<T>;
  struct Row {
    const char* name;
    L (*apply)(L);
    W (*reference)(W);
  };
  const Row rows[] = {
      {"sqrt", [](L x) { return sqrt(x); }, [](W x) { return std::sqrt(x); }},
      {"exp", [](L x) { return exp(x); }, [](W x) { return std::exp(x); }},
      {"exp2", [](L x) { return exp2(x); }, [](W x) { return std::exp2(x); }},
      {"expm1", [](L x) { return expm1(x); }, [](W x) { return std::expm1(x); }},
      {"log", [](L x) { return log(x); }, [](W x) { return std::log(x); }},
      {"log1p", [](L x) { return log1p(x); }, [](W x) { return std::log1p(x); }},
      {"log2", [](L x) { return log2(x); }, [](W x) { return std::log2(x); }},
      {"log10", [](L x) { return log10(x); }, [](W x) { return std::log10(x); }},
      {"sin", [](L x) { return sin(x); }, [](W x) { return std::sin(x); }},
      {"cos", [](L x) { return cos(x); }, [](W x) { return std::cos(x); }},
      {"tan", [](L x) { return tan(x); }, [](W x) { return std::tan(x); }},
      {"asin", [](L x) { return asin(x); }, [](W x) { return std::asin(x); }},
      {"acos", [](L x) { return acos(x); }, [](W x) { return std::acos(x); }},
      {"atan", [](L x) { return atan(x); }, [](W x) { return std::atan(x); }},
      {"sinh", [](L x) { return sinh(x); }, [](W x) { return std::sinh(x); }},
      {"cosh", [](L x) { return cosh(x); }, [](W x) { return std::cosh(x); }},
      {"tanh", [](L x) { return tanh(x); }, [](W x) { return std::tanh(x); }},
      {"asinh", [](L x) { return asinh(x); }, [](W x) { return std::asinh(x); }},
      {"acosh", [](L x) { return acosh(x); }, [](W x) { return std::acosh(x); }},
      {"atanh", [](L x) { return atanh(x); }, [](W x) { return std::atanh(x); }},
      {"erf", [](L x) { return erf(x); }, [](W x) { return std::erf(x); }},
      {"erfc", [](L x) { return erfc(x); }, [](W x) { return std::erfc(x); }},
      {"reciprocal", [](L x) { return reciprocal(x); }, [](W x) { return 1 / x; }},
      {"sigmoid", [](L x) { return sigmoid(x); },
       [](W x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }},
  };
  const std::vector<T> values = sample_values<T>(300);
  for (const Row& row : rows) {
    for (T x : values) {
      EXPECT_LE(ulps<T>(row.apply(L(x)).value(), row.reference(x)), 4) << row.name << " of " << x;
    }
  }
  EXPECT_EQ(atan2(L(1), L(-1)).value(), std::atan2(T{1}, T{-1}));
  EXPECT_EQ(hypot(L(3), L(4)).value(), T{5});
}

TYPED_TEST(LaneFloat, LoadsAndStores) {
  using T = TypeParam;
  const T from[] = {2, 3};
  T to[] = {0, 0};
  Lane<T>::load(from).store(to);
  Lane<T>::load_strided(from + 1, 5).store_strided(to + 1, 5);
  EXPECT_EQ(to[0], T{2});
  EXPECT_EQ(to[1], T{3});
  EXPECT_EQ(Lane<T>::load_partial(from, 0, T{7}).value(), T{7});
  EXPECT_EQ(Lane<T>::load_partial(from, 1, T{7}).value(), T{2});
  Lane<T>(9).store_partial(to, 0);
  EXPECT_EQ(to[0], T{2});
  Lane<T>(9).store_partial(to, 1);
  EXPECT_EQ(to[0], T{9});
}

TEST(LaneMask, IsABool) {
  using L = Lane<float>;
  const bool from = true;
  bool to = true;
  (LaneMask<float>::load(&from) & (L(1) > L(2))).store(&to);
  EXPECT_FALSE(to);
  (LaneMask<float>::load(&from) ^ (L(1) > L(2))).store(&to);
  EXPECT_TRUE(to);
  EXPECT_TRUE((!L(0)).value());
  EXPECT_FALSE((isnan(L(0)) | isinf(L(1)) | !isfinite(L(2))).value());
}

}  // namespace
