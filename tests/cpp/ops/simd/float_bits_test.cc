#include "ops/simd/float_bits.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

namespace {

using lamella::BFloat16;
using lamella::Half;
using lamella::simd::FloatBits;

template <class T>
class FloatBitsTest : public ::testing::Test {
 protected:
  using X = FloatBits<T>;

  /// Returns every value, permuted by `factor`.
  static std::vector<T> all(std::uint32_t factor) {
    std::vector<T> values(65536);
    for (std::uint32_t i = 0; i < values.size(); ++i) values[i].bits = static_cast<std::uint16_t>(i * factor);
    return values;
  }

  template <class F, class G>
  void compare(const char* what, F vector, G scalar) const {
    for (const std::uint32_t factor : {1u, 40503u}) {
      const std::vector<T> a = all(1);
      const std::vector<T> b = all(factor);
      for (std::size_t i = 0; i < a.size(); i += X::size) {
        T got[X::size];
        vector(X::load(&a[i]), X::load(&b[i])).store(got);
        for (std::size_t k = 0; k < X::size; ++k) {
          const auto x = static_cast<float>(a[i + k]);
          const auto y = static_cast<float>(b[i + k]);
          const float exact = scalar(x, y);
          const auto value = static_cast<float>(got[k]);
          if (std::isnan(exact)) {
            ASSERT_TRUE(std::isnan(value)) << what << " of " << x << " and " << y;
          } else {
            ASSERT_EQ(value, exact) << what << " of " << x << " and " << y;
            ASSERT_EQ(std::signbit(value), std::signbit(exact)) << what << " of " << x << " and " << y;
          }
        }
      }
    }
  }

  /// Returns 1 where the mask is set, 0 elsewhere.
  static X ones(typename X::mask_type mask) { return where(mask, X(1), X(0)); }
};

using Types = ::testing::Types<Half, BFloat16>;
TYPED_TEST_SUITE(FloatBitsTest, Types);

TYPED_TEST(FloatBitsTest, SignsAndChoices) {
  using X = FloatBits<TypeParam>;
  this->compare("-", [](X a, X) { return -a; }, [](float a, float) { return -a; });
  this->compare("abs", [](X a, X) { return abs(a); }, [](float a, float) { return std::fabs(a); });
  this->compare(
      "copysign", [](X a, X b) { return copysign(a, b); }, [](float a, float b) { return std::copysign(a, b); });
  this->compare(
      "sign", [](X a, X) { return sign(a); },
      [](float a, float) { return std::isnan(a) ? a : static_cast<float>((a > 0) - (a < 0)); });
  this->compare(
      "maximum", [](X a, X b) { return maximum(a, b); },
      [](float a, float b) { return std::isnan(a) || a > b ? a : b; });
  this->compare(
      "minimum", [](X a, X b) { return minimum(a, b); },
      [](float a, float b) { return std::isnan(a) || a < b ? a : b; });
}

TYPED_TEST(FloatBitsTest, Masks) {
  using X = FloatBits<TypeParam>;
  const auto check = [&](const char* what, auto vector, auto scalar) {
    this->compare(
        what, [&](X a, X b) { return this->ones(vector(a, b)); },
        [&](float a, float b) { return scalar(a, b) ? 1.0f : 0.0f; });
  };
  check("signbit", [](X a, X) { return signbit(a); }, [](float a, float) { return std::signbit(a); });
  check("isnan", [](X a, X) { return isnan(a); }, [](float a, float) { return std::isnan(a); });
  check("isinf", [](X a, X) { return isinf(a); }, [](float a, float) { return std::isinf(a); });
  check("isfinite", [](X a, X) { return isfinite(a); }, [](float a, float) { return std::isfinite(a); });
  check("==", [](X a, X b) { return a == b; }, [](float a, float b) { return a == b; });
  check("!=", [](X a, X b) { return a != b; }, [](float a, float b) { return a != b; });
  check("<", [](X a, X b) { return a < b; }, [](float a, float b) { return a < b; });
  check("<=", [](X a, X b) { return a <= b; }, [](float a, float b) { return a <= b; });
  check(">", [](X a, X b) { return a > b; }, [](float a, float b) { return a > b; });
  check(">=", [](X a, X b) { return a >= b; }, [](float a, float b) { return a >= b; });
}

TYPED_TEST(FloatBitsTest, Neighbors) {
  using T = TypeParam;
  using X = FloatBits<T>;
  this->compare(
      "nextafter", [](X a, X b) { return nextafter(a, b); },
      [](float a, float b) {
        if (std::isnan(a) || std::isnan(b)) return a + b;
        if (a == b) return b;
        T next(a);
        if (a == 0) {
          next.bits = std::signbit(b) ? 0x8001 : 0x0001;
        } else {
          next.bits = static_cast<std::uint16_t>(next.bits + ((a < b) == (a > 0) ? 1 : -1));
        }
        return static_cast<float>(next);
      });
}

}  // namespace
