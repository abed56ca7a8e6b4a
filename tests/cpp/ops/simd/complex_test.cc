#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>

#include "ops/simd/complex.h"
#include "ops/simd/lane.h"
#include "ops/simd/vec.h"

namespace {

using lamella::simd::ComplexOf;
using lamella::simd::Lane;
using lamella::simd::Vec;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// Runs for the CPU's vectors and for the operand of a CUDA thread, whose formulas are the same.
template <class R>
class ComplexOperand : public ::testing::Test {};
using Parts = ::testing::Types<Vec<float>, Vec<double>, Lane<float>, Lane<double>>;
TYPED_TEST_SUITE(ComplexOperand, Parts);

/// Expects `expected`, zeros with their signs; NaN stands for any NaN.
void expect_part(double got, double expected) {
  if (std::isnan(expected)) {
    EXPECT_TRUE(std::isnan(got)) << got;
    return;
  }
  EXPECT_EQ(got, expected);
  EXPECT_EQ(std::signbit(got), std::signbit(expected));
}

template <class R, class F>
void expect_value(F f, std::complex<double> z, double re, double im) {
  using T = typename R::value_type;
  SCOPED_TRACE(::testing::Message() << z);
  const ComplexOf<R> y = f(ComplexOf<R>(R(static_cast<T>(z.real())), R(static_cast<T>(z.imag()))));
  expect_part(y.re()[0], re);
  expect_part(y.im()[0], im);
}

TYPED_TEST(ComplexOperand, Expm1OfZerosAndInfinities) {
  const auto f = [](auto z) { return expm1(z); };
  expect_value<TypeParam>(f, {0.0, 0.0}, 0.0, 0.0);
  expect_value<TypeParam>(f, {-0.0, 0.0}, 0.0, 0.0);
  expect_value<TypeParam>(f, {-0.0, -0.0}, 0.0, -0.0);
  expect_value<TypeParam>(f, {-kInf, 2}, -1, 0.0);
  expect_value<TypeParam>(f, {-kInf, -2}, -1, -0.0);
  expect_value<TypeParam>(f, {kInf, 2}, -kInf, kInf);
  expect_value<TypeParam>(f, {kInf, 0.0}, kInf, 0.0);
  expect_value<TypeParam>(f, {kInf, kInf}, kInf, kNan);
  expect_value<TypeParam>(f, {kInf, kNan}, kInf, kNan);
  expect_value<TypeParam>(f, {1, kInf}, kNan, kNan);
  expect_value<TypeParam>(f, {kNan, 0.0}, kNan, 0.0);
}

TYPED_TEST(ComplexOperand, TanhAndTanAtInfinityHaveTheSignOfTheOtherPart) {
  const auto tanh_of = [](auto z) { return tanh(z); };
  const auto tan_of = [](auto z) { return tan(z); };
  // 2 y is the angle: sin 4 is negative, sin 2 positive.
  for (const double y : {2.0, 1.0, -2.0, -1.0, 0.0, -0.0}) {
    const double zero = std::copysign(0.0, y);
    expect_value<TypeParam>(tanh_of, {kInf, y}, 1, zero);
    expect_value<TypeParam>(tanh_of, {-kInf, y}, -1, zero);
    expect_value<TypeParam>(tan_of, {y, kInf}, zero, 1);
    expect_value<TypeParam>(tan_of, {y, -kInf}, zero, -1);
  }
  expect_value<TypeParam>(tanh_of, {1, kInf}, kNan, kNan);
}

}  // namespace
