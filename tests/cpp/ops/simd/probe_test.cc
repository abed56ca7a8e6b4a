#include "ops/simd/probe.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "ops/simd/lane.h"
#include "ops/simd/vec.h"

namespace {

using lamella::simd::Lane;
using lamella::simd::Probe;
using lamella::simd::Vec;

/// Operands: x is 1, y is 2, dy is 4.
struct Elu {
  template <class X>
  static constexpr X grad(const X& x, const X& y, const X& dy) {
    return where(x > 0, dy, 0.5 * dy * (1 - y * y));
  }
};
struct Tanh {
  template <class X>
  static constexpr X grad(const X&, const X& y, const X& dy) {
    return dy - dy * y * y;
  }
};
struct Sine {
  template <class X>
  static constexpr X grad(const X& x, const X&, const X& dy) {
    return dy * cos(x);
  }
};
struct Add {
  template <class X>
  static constexpr X grad(const X&, const X&, const X& dy) {
    return dy;
  }
};
struct Constant {
  template <class X>
  static constexpr X grad(const X&, const X&, const X&) {
    return X(3);
  }
};

template <class Op>
constexpr unsigned kReads = Op::grad(Probe{1}, Probe{2}, Probe{4}).bits;

static_assert(kReads<Elu> == 7);
static_assert(kReads<Tanh> == 6);
static_assert(kReads<Sine> == 5);
static_assert(kReads<Add> == 4);
static_assert(kReads<Constant> == 0);

TEST(Probe, LiteralsHaveNoBits) {
  const Probe x{8};
  EXPECT_EQ((3 * x).bits, 8u);
  EXPECT_EQ((x - 1.5f).bits, 8u);
  EXPECT_EQ(Probe(3).bits, 0u);
  EXPECT_EQ(Probe{}.bits, 0u);
  EXPECT_EQ(where(x > 1, 1, 0).bits, 8u);
  EXPECT_EQ(pow(2, x).bits, 8u);
  EXPECT_EQ(maximum(x, 0).bits, 8u);
}

TEST(Probe, EveryOperationIsTheUnion) {
  const Probe a{1};
  const Probe b{2};
  for (Probe both : {a + b,           a - b,          a * b,
                     a / b,           a & b,          a | b,
                     a ^ b,           a << b,         a >> b,
                     a == b,          a != b,         a<b, a <= b, a> b,
                     a >= b,          maximum(a, b),  minimum(a, b),
                     pow(a, b),       atan2(a, b),    hypot(a, b),
                     copysign(a, b),  fmod(a, b),     floor_divide(a, b),
                     remainder(a, b), where(a, b, 1), where(a, 1, b)}) {
    EXPECT_EQ(both.bits, 3u);
  }
  for (Probe one :
       {-a,         !a,       ~a,      negative(a), square(a), reciprocal(a), abs(a),   sign(a),    sqrt(a), exp(a),
        exp2(a),    expm1(a), log(a),  log1p(a),    log2(a),   log10(a),      sin(a),   cos(a),     tan(a),  asin(a),
        acos(a),    atan(a),  sinh(a), cosh(a),     tanh(a),   asinh(a),      acosh(a), atanh(a),   erf(a),  erfc(a),
        sigmoid(a), floor(a), ceil(a), trunc(a),    round(a),  isnan(a),      isinf(a), isfinite(a)}) {
    EXPECT_EQ(one.bits, 1u);
  }
  Probe sum{4};
  sum += a;
  EXPECT_EQ(sum.bits, 5u);
}

/// Checks that one formula serves every operand type.
TEST(Probe, TheProbedFormulaIsTheOneThatRuns) {
  EXPECT_EQ(Elu::grad(Lane<float>(1), Lane<float>(2), Lane<float>(3)).value(), 3.0f);
  EXPECT_EQ(Elu::grad(Lane<double>(-1), Lane<double>(2), Lane<double>(3)).value(), -4.5);
  EXPECT_EQ(Elu::grad(Vec<float>(-1), Vec<float>(2), Vec<float>(3))[0], -4.5f);
  EXPECT_EQ(Elu::grad(Vec<double>(1), Vec<double>(2), Vec<double>(3))[0], 3.0);
  EXPECT_EQ(Elu::grad(Vec<std::int32_t>(1), Vec<std::int32_t>(2), Vec<std::int32_t>(3))[0], 3);
}

}  // namespace
