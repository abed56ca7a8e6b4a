#include "engine/core/half.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace lamella {
namespace {

/// Returns the value of a 16-bit float by its definition: sign, exponent and fraction, without bit tricks of the tested
/// code.
double value_of(std::uint16_t bits, int exponent_bits) {
  const int fraction_bits = 15 - exponent_bits;
  const int fraction = bits & ((1 << fraction_bits) - 1);
  const int exponent = (bits >> fraction_bits) & ((1 << exponent_bits) - 1);
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const double sign = bits >> 15 ? -1.0 : 1.0;
  if (exponent == (1 << exponent_bits) - 1) {
    return fraction ? std::numeric_limits<double>::quiet_NaN() : sign * std::numeric_limits<double>::infinity();
  }
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - fraction_bits);
  return sign * std::ldexp((1 << fraction_bits) + fraction, exponent - bias - fraction_bits);
}

struct Format {
  int exponent_bits;
  std::uint16_t (*round)(float);
  float (*widen)(std::uint16_t);
  const char* name;
};

template <class T>
constexpr Format format_of(int exponent_bits, const char* name) {
  return {exponent_bits, [](float f) { return T(f).bits; },
          [](std::uint16_t bits) {
            T value;
            value.bits = bits;
            return static_cast<float>(value);
          },
          name};
}

class HalfTest : public ::testing::TestWithParam<Format> {
 protected:
  std::uint16_t infinity() const {
    const int exponent_bits = GetParam().exponent_bits;
    return static_cast<std::uint16_t>(((1 << exponent_bits) - 1) << (15 - exponent_bits));
  }
};

TEST_P(HalfTest, WidensEveryValueExactly) {
  const Format& format = GetParam();
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const double expected = value_of(half, format.exponent_bits);
    const float got = format.widen(half);
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(got)) << bits;
    } else {
      EXPECT_EQ(static_cast<double>(got), expected) << bits;
      EXPECT_EQ(std::signbit(got), std::signbit(expected)) << bits;
    }
  }
}

TEST_P(HalfTest, RoundTripsEveryValue) {
  const Format& format = GetParam();
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const std::uint16_t back = format.round(format.widen(half));
    if (std::isnan(value_of(half, format.exponent_bits))) {
      EXPECT_TRUE(std::isnan(value_of(back, format.exponent_bits))) << bits;
    } else {
      EXPECT_EQ(back, half);
    }
  }
}

// Checks that between two neighbors the midpoint rounds to the even one, and the floats beside it to the nearer one.
TEST_P(HalfTest, RoundsToNearestEvenAtEveryMidpoint) {
  const Format& format = GetParam();
  for (std::uint32_t bits = 0; bits < infinity(); ++bits) {
    const auto low = static_cast<std::uint16_t>(bits);
    const auto high = static_cast<std::uint16_t>(bits + 1);
    const double a = value_of(low, format.exponent_bits);
    // Overflow begins where the number that would follow the largest finite value is nearer.
    const double below = bits == 0 ? 0.0 : a - value_of(static_cast<std::uint16_t>(bits - 1), format.exponent_bits);
    const double b = high == infinity() ? a + below : value_of(high, format.exponent_bits);
    const auto middle = static_cast<float>((a + b) / 2);
    if (static_cast<double>(middle) != (a + b) / 2)
      continue;  // no float lies halfway between bfloat16 subnormals next to 0
    const std::uint16_t even = low % 2 == 0 ? low : high;
    EXPECT_EQ(format.round(middle), even) << bits;
    EXPECT_EQ(format.round(std::nextafter(middle, 0.0F)), low) << bits;
    EXPECT_EQ(format.round(std::nextafter(middle, std::numeric_limits<float>::infinity())), high) << bits;
    EXPECT_EQ(format.round(-middle), even | 0x8000) << bits;
  }
}

TEST_P(HalfTest, RoundsRandomFloatsToTheNearestValue) {
  const Format& format = GetParam();
  std::mt19937 random(11);
  for (int i = 0; i < 200000; ++i) {
    const float x = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    const std::uint16_t got = format.round(x);
    const double y = value_of(got, format.exponent_bits);
    if (std::isnan(x)) {
      ASSERT_TRUE(std::isnan(y));
      continue;
    }
    ASSERT_EQ(got >> 15, std::signbit(x) ? 1 : 0);
    const std::uint16_t magnitude = got & 0x7fff;
    if (magnitude == infinity()) {
      const double largest = value_of(static_cast<std::uint16_t>(infinity() - 1), format.exponent_bits);
      ASSERT_GT(std::fabs(static_cast<double>(x)), largest);
      continue;
    }
    const double distance = std::fabs(y - x);
    for (const int step : {-1, 1}) {
      if (magnitude + step < 0 || magnitude + step >= infinity()) continue;
      const auto neighbor = static_cast<std::uint16_t>(got + step);
      ASSERT_LE(distance, std::fabs(value_of(neighbor, format.exponent_bits) - x)) << x;
    }
  }
}

TEST_P(HalfTest, KeepsSpecialValues) {
  const Format& format = GetParam();
  const float infinite = std::numeric_limits<float>::infinity();
  EXPECT_EQ(format.round(infinite), infinity());
  EXPECT_EQ(format.round(-infinite), infinity() | 0x8000);
  EXPECT_EQ(format.round(std::numeric_limits<float>::max()), infinity());
  EXPECT_EQ(format.round(0.0F), 0);
  EXPECT_EQ(format.round(-0.0F), 0x8000);
  EXPECT_EQ(format.round(std::numeric_limits<float>::denorm_min()), 0);
  // NaNs with a payload only in the truncated bits must not become infinite.
  for (const std::uint32_t nan : {0x7f800001u, 0x7fffffffu, 0xff800001u, 0x7fc00000u}) {
    EXPECT_TRUE(std::isnan(format.widen(format.round(std::bit_cast<float>(nan))))) << nan;
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, HalfTest,
                         ::testing::Values(format_of<Half>(5, "float16"), format_of<BFloat16>(8, "bfloat16")),
                         [](const ::testing::TestParamInfo<Format>& info) { return info.param.name; });

}  // namespace
}  // namespace lamella
