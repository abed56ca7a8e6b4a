#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "ops/simd/lane.h"
#include "ops/simd/vec.h"

namespace {

using lamella::simd::Lane;
using lamella::simd::Vec;

__extension__ using Wide = __int128;
__extension__ using Natural = unsigned __int128;

/// Returns the integer `exact` wrapped to `T`.
template <class T>
T wrapped(Wide exact) {
  return static_cast<T>(static_cast<std::uint64_t>(exact));
}

/// Returns the product wrapped to `T`. The product of two 64-bit numbers does not fit a signed `Wide`.
template <class T>
T wrapped_product(T a, T b) {
  return wrapped<T>(static_cast<Wide>(static_cast<Natural>(a) * static_cast<Natural>(b)));
}

template <class T>
std::vector<T> samples() {
  std::vector<T> values;
  const Wide low = std::numeric_limits<T>::min();
  const Wide high = std::numeric_limits<T>::max();
  for (Wide v : {low, low + 1, low / 2, low / 3, Wide{-100}, Wide{-7}, Wide{-3}, Wide{-2}, Wide{-1}, Wide{0}, Wide{1},
                 Wide{2}, Wide{3}, Wide{7}, Wide{100}, high / 3, high / 2, high - 1, high}) {
    if (v >= low && v <= high) values.push_back(static_cast<T>(v));
  }
  return values;
}

Wide floored(Wide a, Wide b) {
  const Wide quotient = a / b;
  return quotient * b != a && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

/// Computes a power by its definition, one factor at a time, without squaring.
template <class T>
T power(T base, T exponent) {
  if (exponent < T{0}) return base == T{1} ? T{1} : base == wrapped<T>(-1) ? (exponent % 2 == 0 ? T{1} : base) : T{0};
  T result = 1;
  for (T i = 0; i < exponent; ++i) result = wrapped_product(result, base);
  return result;
}

template <class X>
class Integers : public ::testing::Test {
 public:
  using T = typename X::value_type;

  /// Compares each lane of `got` with `expected`.
  static void expect(X got, T expected, const char* what, T a, T b) {
    for (int i = 0; i < X::size; ++i) {
      EXPECT_EQ(static_cast<std::int64_t>(got[i]), static_cast<std::int64_t>(expected))
          << what << " of " << static_cast<std::int64_t>(a) << " and " << static_cast<std::int64_t>(b);
    }
  }
};

using IntegerOperands =
    ::testing::Types<Vec<std::int8_t>, Vec<std::int16_t>, Vec<std::int32_t>, Vec<std::int64_t>, Vec<std::uint8_t>,
                     Vec<std::uint16_t>, Vec<std::uint32_t>, Vec<std::uint64_t>, Lane<std::int8_t>, Lane<std::int16_t>,
                     Lane<std::int32_t>, Lane<std::int64_t>, Lane<std::uint8_t>, Lane<std::uint64_t>>;
TYPED_TEST_SUITE(Integers, IntegerOperands);

TYPED_TEST(Integers, ArithmeticWraps) {
  using X = TypeParam;
  using T = typename X::value_type;
  for (T a : samples<T>()) {
    this->expect(-X(a), wrapped<T>(-Wide{a}), "-", a, a);
    this->expect(negative(X(a)), wrapped<T>(-Wide{a}), "negative", a, a);
    this->expect(abs(X(a)), wrapped<T>(a < T{0} ? -Wide{a} : Wide{a}), "abs", a, a);
    this->expect(sign(X(a)), wrapped<T>((a > T{0}) - (a < T{0})), "sign", a, a);
    this->expect(square(X(a)), wrapped_product(a, a), "square", a, a);
    this->expect(~X(a), wrapped<T>(~Wide{a}), "~", a, a);
    for (T b : samples<T>()) {
      this->expect(X(a) + X(b), wrapped<T>(Wide{a} + Wide{b}), "+", a, b);
      this->expect(X(a) - X(b), wrapped<T>(Wide{a} - Wide{b}), "-", a, b);
      this->expect(X(a) * X(b), wrapped_product(a, b), "*", a, b);
      this->expect(X(a) & X(b), wrapped<T>(Wide{a} & Wide{b}), "&", a, b);
      this->expect(X(a) | X(b), wrapped<T>(Wide{a} | Wide{b}), "|", a, b);
      this->expect(X(a) ^ X(b), wrapped<T>(Wide{a} ^ Wide{b}), "^", a, b);
      this->expect(maximum(X(a), X(b)), a > b ? a : b, "maximum", a, b);
      this->expect(minimum(X(a), X(b)), a < b ? a : b, "minimum", a, b);
    }
  }
}

TYPED_TEST(Integers, DivisionNeverTraps) {
  using X = TypeParam;
  using T = typename X::value_type;
  for (T a : samples<T>()) {
    for (T b : samples<T>()) {
      this->expect(X(a) / X(b), b == 0 ? T{0} : wrapped<T>(Wide{a} / Wide{b}), "/", a, b);
      const Wide quotient = b == 0 ? 0 : floored(a, b);
      this->expect(floor_divide(X(a), X(b)), wrapped<T>(quotient), "floor_divide", a, b);
      this->expect(remainder(X(a), X(b)), b == 0 ? T{0} : wrapped<T>(a - quotient * b), "remainder", a, b);
    }
  }
}

TYPED_TEST(Integers, PowerIsRepeatedMultiplication) {
  using X = TypeParam;
  using T = typename X::value_type;
  for (T a : samples<T>()) {
    for (int b : {-3, -2, -1, 0, 1, 2, 3, 5, 8, 63, 64, 100}) {
      if (b < 0 && std::is_unsigned_v<T>) continue;
      this->expect(pow(X(a), X(b)), power<T>(a, static_cast<T>(b)), "pow", a, static_cast<T>(b));
    }
  }
}

TYPED_TEST(Integers, ShiftsBeyondTheWidthGiveTheLimit) {
  using X = TypeParam;
  using T = typename X::value_type;
  constexpr int kBits = 8 * sizeof(T);
  for (T a : samples<T>()) {
    for (int b : {0, 1, kBits / 2, kBits - 1, kBits, kBits + 1, 100}) {
      const Wide scale = Wide{1} << (b < kBits ? b : kBits);
      this->expect(X(a) << X(b), b < kBits ? wrapped<T>(Wide{a} * scale) : T{0}, "<<", a, static_cast<T>(b));
      this->expect(X(a) >> X(b), wrapped<T>(floored(a, scale)), ">>", a, static_cast<T>(b));
    }
  }
}

}  // namespace
