#include "ops/simd/vec.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

namespace {

using lamella::simd::Mask;
using lamella::simd::Vec;

/// Returns numbers that are exact in every type: 1, 2, 3, ...
template <class T>
std::vector<T> counting(int n) {
  std::vector<T> values(n);
  for (int i = 0; i < n; ++i) values[i] = static_cast<T>(i + 1);
  return values;
}

template <class T>
class VecMemory : public ::testing::Test {};
using ElementTypes = ::testing::Types<float, double, bool, std::int8_t, std::int16_t, std::int32_t, std::int64_t,
                                      std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(VecMemory, ElementTypes);

TYPED_TEST(VecMemory, LoadsAndStoresWithoutAlignment) {
  using V = Vec<TypeParam>;
  auto from = counting<std::conditional_t<std::is_same_v<TypeParam, bool>, std::uint8_t, TypeParam>>(V::size + 1);
  if constexpr (std::is_same_v<TypeParam, bool>) {
    for (int i = 0; i <= V::size; ++i) from[i] = i % 3 == 0;
  }
  const auto* values = reinterpret_cast<const TypeParam*>(from.data());
  TypeParam to[V::size + 1] = {};
  V::load(values + 1).store(to + 1);
  for (int i = 1; i <= V::size; ++i) EXPECT_EQ(to[i], values[i]) << i;
  EXPECT_EQ(V::load(values)[V::size - 1], values[V::size - 1]);
}

TYPED_TEST(VecMemory, StridedAndPartial) {
  using V = Vec<TypeParam>;
  constexpr int kStride = 3;
  TypeParam from[V::size * kStride];
  for (int i = 0; i < V::size * kStride; ++i) from[i] = static_cast<TypeParam>(i % 5 == 1);
  for (int n = 0; n <= V::size; ++n) {
    TypeParam contiguous[V::size + 1] = {};
    TypeParam strided[V::size * kStride] = {};
    const V read = V::load_strided_partial(from, kStride, n, TypeParam{1});
    for (int i = 0; i < V::size; ++i) {
      EXPECT_EQ(read[i], i < n ? from[i * kStride] : TypeParam{1}) << n << ' ' << i;
      EXPECT_EQ(V::load_partial(from, n, TypeParam{1})[i], i < n ? from[i] : TypeParam{1}) << n << ' ' << i;
    }
    V(TypeParam{1}).store_partial(contiguous, n);
    V(TypeParam{1}).store_strided_partial(strided, kStride, n);
    for (int i = 0; i <= V::size; ++i) EXPECT_EQ(contiguous[i], static_cast<TypeParam>(i < n)) << n << ' ' << i;
    for (int i = 0; i < V::size * kStride; ++i) {
      EXPECT_EQ(strided[i], static_cast<TypeParam>(i < n * kStride && i % kStride == 0)) << n << ' ' << i;
    }
  }
  TypeParam to[V::size * kStride] = {};
  V::load_strided(from, kStride).store_strided(to, kStride);
  for (int i = 0; i < V::size; ++i) EXPECT_EQ(to[i * kStride], from[i * kStride]);
}

TYPED_TEST(VecMemory, MaskIsAnArrayOfBool) {
  using M = Mask<TypeParam>;
  constexpr int kStride = 2;
  bool from[M::size * kStride];
  for (int i = 0; i < M::size * kStride; ++i) from[i] = i % 7 == 1 || i % 4 == 3;
  bool to[M::size * kStride] = {};
  M::load(from).store(to);
  for (int i = 0; i < M::size; ++i) EXPECT_EQ(to[i], from[i]) << i;
  (!M::load_strided(from, kStride)).store_strided(to, kStride);
  for (int i = 0; i < M::size; ++i) EXPECT_EQ(to[i * kStride], !from[i * kStride]) << i;
  for (int n = 0; n <= M::size; ++n) {
    bool partial[M::size + 1] = {};
    const M read = M::load_partial(from, n, true);
    for (int i = 0; i < M::size; ++i) EXPECT_EQ(read[i], i < n ? from[i] : true) << n << ' ' << i;
    M(true).store_partial(partial, n);
    for (int i = 0; i <= M::size; ++i) EXPECT_EQ(partial[i], i < n) << n << ' ' << i;
  }
}

TYPED_TEST(VecMemory, ComparesAndChooses) {
  using V = Vec<TypeParam>;
  TypeParam a[V::size];
  TypeParam b[V::size];
  for (int i = 0; i < V::size; ++i) {
    a[i] = static_cast<TypeParam>(i % 2);
    b[i] = static_cast<TypeParam>(i % 4 / 2);
  }
  const V x = V::load(a);
  const V y = V::load(b);
  for (int i = 0; i < V::size; ++i) {
    EXPECT_EQ((x == y)[i], a[i] == b[i]);
    EXPECT_EQ((x != y)[i], a[i] != b[i]);
    EXPECT_EQ((x < y)[i], a[i] < b[i]);
    EXPECT_EQ((x <= y)[i], a[i] <= b[i]);
    EXPECT_EQ((x > y)[i], a[i] > b[i]);
    EXPECT_EQ((x >= y)[i], a[i] >= b[i]);
    EXPECT_EQ((!x)[i], a[i] == TypeParam{0});
    EXPECT_EQ(((x == y) & (x != 0))[i], a[i] == b[i] && a[i] != TypeParam{0});
    EXPECT_EQ(((x == y) | (x != 0))[i], a[i] == b[i] || a[i] != TypeParam{0});
    EXPECT_EQ(((x == y) ^ (x != 0))[i], (a[i] == b[i]) != (a[i] != TypeParam{0}));
    EXPECT_EQ(((x == 0) == (y == 0))[i], a[i] == b[i]);
    EXPECT_EQ(where(x < y, x, y)[i], a[i] < b[i] ? a[i] : b[i]);
    EXPECT_EQ(where(x != 0, 0, 1)[i], static_cast<TypeParam>(a[i] == TypeParam{0}));
    EXPECT_EQ(maximum(x, y)[i], std::max(a[i], b[i]));
    EXPECT_EQ(minimum(x, y)[i], std::min(a[i], b[i]));
    EXPECT_FALSE(isnan(x)[i] || isinf(x)[i] || !isfinite(x)[i]);
  }
}

TEST(Vec, BoolAddsAsOrAndMultipliesAsAnd) {
  using V = Vec<bool>;
  for (bool a : {false, true}) {
    for (bool b : {false, true}) {
      EXPECT_EQ((V(a) + V(b))[0], a || b);
      EXPECT_EQ((V(a) * V(b))[0], a && b);
      EXPECT_EQ((V(a) ^ V(b))[V::size - 1], a != b);
      EXPECT_EQ((~V(a))[0], !a);
    }
  }
}

template <class T>
class VecFloat : public ::testing::Test {};
using FloatTypes = ::testing::Types<float, double>;
TYPED_TEST_SUITE(VecFloat, FloatTypes);

TYPED_TEST(VecFloat, LiteralsRoundToTheElementType) {
  using V = Vec<TypeParam>;
  const V x = V(TypeParam{3});
  static_assert(std::is_same_v<decltype(0.1 * x), V>);
  static_assert(std::is_same_v<decltype(1 - x), V>);
  static_assert(std::is_same_v<decltype(x > 0), Mask<TypeParam>>);
  EXPECT_EQ((0.1 * x)[0], static_cast<TypeParam>(0.1) * TypeParam{3});
  EXPECT_EQ((1 - x)[V::size - 1], TypeParam{-2});
  EXPECT_EQ((x / 2)[0], TypeParam{1.5});
  EXPECT_EQ(maximum(x, 5)[0], TypeParam{5});
  EXPECT_EQ(pow(x, 2)[0], TypeParam{9});
  EXPECT_TRUE(std::signbit(V(-0.0)[0]));
}

TYPED_TEST(VecFloat, CompoundAssignment) {
  using V = Vec<TypeParam>;
  V x = 6;
  x += 2;
  x *= 3;
  x -= 4;
  x /= 5;
  EXPECT_EQ(x[0], TypeParam{4});
}

TYPED_TEST(VecFloat, WhereIsNoArithmetic) {
  using V = Vec<TypeParam>;
  const TypeParam nan = std::numeric_limits<TypeParam>::quiet_NaN();
  const TypeParam inf = std::numeric_limits<TypeParam>::infinity();
  EXPECT_EQ(where(V(1) > 0, V(2), V(nan))[0], TypeParam{2});
  EXPECT_EQ(where(V(1) < 0, V(inf), 3)[0], TypeParam{3});
  EXPECT_TRUE(std::signbit(where(V(1) > 0, V(-0.0), V(0))[0]));
}

TYPED_TEST(VecFloat, NanComparesAsInC) {
  using V = Vec<TypeParam>;
  const V nan = std::numeric_limits<TypeParam>::quiet_NaN();
  EXPECT_FALSE((nan == nan)[0] || (nan < 1)[0] || (nan <= 1)[0] || (nan > 1)[0] || (nan >= 1)[0]);
  EXPECT_TRUE((nan != nan)[0]);
  EXPECT_TRUE(isnan(nan)[0]);
  EXPECT_FALSE(isfinite(nan)[0] || isinf(nan)[0] || isfinite(-nan)[0]);
}

TYPED_TEST(VecFloat, MaximumAndMinimumPropagateNan) {
  using V = Vec<TypeParam>;
  const V nan = std::numeric_limits<TypeParam>::quiet_NaN();
  for (const V& other : {V(0), V(1), V(std::numeric_limits<TypeParam>::infinity()), nan}) {
    EXPECT_TRUE(std::isnan(maximum(nan, other)[0]) && std::isnan(maximum(other, nan)[0]));
    EXPECT_TRUE(std::isnan(minimum(nan, other)[0]) && std::isnan(minimum(other, nan)[0]));
  }
}

TYPED_TEST(VecFloat, SignFollowsNumpy) {
  using V = Vec<TypeParam>;
  EXPECT_EQ(sign(V(-3))[0], TypeParam{-1});
  EXPECT_EQ(sign(V(std::numeric_limits<TypeParam>::denorm_min()))[0], TypeParam{1});
  EXPECT_EQ(sign(V(-0.0))[0], TypeParam{0});
  EXPECT_FALSE(std::signbit(sign(V(-0.0))[0]));
  EXPECT_TRUE(std::isnan(sign(V(std::numeric_limits<TypeParam>::quiet_NaN()))[0]));
}

/// Checks division as the Python array API standard defines it, and numpy if no operand is infinite.
TYPED_TEST(VecFloat, FloorDivideAndRemainderFollowTheStandard) {
  using V = Vec<TypeParam>;
  constexpr double kInf = std::numeric_limits<double>::infinity();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  struct Row {
    double a, b, quotient, rest;
  };
  const Row rows[] = {
      {7, 3, 2, 1},
      {-7, 3, -3, 2},
      {7, -3, -3, -2},
      {-7, -3, 2, -1},
      {-7.5, 2, -4, 0.5},
      {0.0, 3, 0.0, 0.0},
      {-0.0, 3, -0.0, 0.0},
      {6, -3, -2, -0.0},
      {1, kInf, 0.0, 1},
      {-1, kInf, -0.0, kInf},
      {1, -kInf, -0.0, -kInf},
      {-1, -kInf, 0.0, -1},
      {kInf, 1, kInf, kNan},
      {kInf, -1, -kInf, kNan},
      {-kInf, 1, -kInf, kNan},
      {-kInf, -1, kInf, kNan},
      {kInf, kInf, kNan, kNan},
      {kInf, -kInf, kNan, kNan},
      {0.0, -kInf, -0.0, -0.0},
      {1, 0.0, kInf, kNan},
      {-1, 0.0, -kInf, kNan},
      {0.0, 0.0, kNan, kNan},
      {kNan, 1, kNan, kNan},
      {1, kNan, kNan, kNan},
      {1, 0.125, 8, 0.0},
      {1, 0.375, 2, 0.25},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(::testing::Message() << row.a << " by " << row.b);
    const TypeParam quotient = floor_divide(V(row.a), V(row.b))[0];
    const TypeParam rest = remainder(V(row.a), V(row.b))[0];
    if (std::isnan(row.quotient)) {
      EXPECT_TRUE(std::isnan(quotient)) << quotient;
    } else {
      EXPECT_EQ(quotient, static_cast<TypeParam>(row.quotient));
      EXPECT_EQ(std::signbit(quotient), std::signbit(row.quotient));
    }
    if (std::isnan(row.rest)) {
      EXPECT_TRUE(std::isnan(rest)) << rest;
    } else {
      EXPECT_EQ(rest, static_cast<TypeParam>(row.rest));
      EXPECT_EQ(std::signbit(rest), std::signbit(row.rest));
    }
  }
  // 5 / 0.1 rounds to 50, but 0.1 is a little more than a tenth and goes into 5 only 49 times.
  EXPECT_EQ(floor_divide(Vec<double>(5), Vec<double>(0.1))[0], 49);
}

}  // namespace
