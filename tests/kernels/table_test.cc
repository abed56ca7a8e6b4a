// Tests kernels of a module, called through its table: what the library's tests check on this machine, for other
// processors.

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "ops/elementwise/list.h"
#include "ops/random/fill.h"
#include "ops/runtime/cpu_loader.h"

namespace lamella {
namespace {

constexpr std::int64_t kLongest = 150;  // a few of the longest vectors, and a rest
constexpr std::int64_t kStrides[] = {0, 1, 2, 3};

TEST(KernelModule, IsTheOneAskedFor) {
  const char* isa = std::getenv("LAMELLA_CPU_ISA");
  ASSERT_NE(isa, nullptr);
  EXPECT_EQ(cpu::instruction_set(), isa);
}

/// Returns Op of every element of x and the elements of y, `stride` apart.
template <class Out, class Op, class T>
std::vector<Out> elementwise(const std::vector<T>& x, const std::vector<T>& y, std::int64_t n, std::int64_t stride) {
  std::vector<Out> out(n);
  Loop loop{};
  loop.inner = n;
  loop.out = reinterpret_cast<char*>(out.data());
  loop.out_inner = 1;
  loop.in[0] = reinterpret_cast<const char*>(x.data());
  loop.in_inner[0] = 1;
  loop.in[1] = reinterpret_cast<const char*>(y.data());
  loop.in_inner[1] = stride;
  cpu_kernels().elementwise.forward[ElementwiseOps::index_of<Op>()][static_cast<int>(dtype_of<T>)](loop);
  return out;
}

template <class Out, class Op, class T, class F>
void compare(const std::vector<T>& x, const std::vector<T>& y, const F& expected) {
  for (const std::int64_t stride : kStrides) {
    for (std::int64_t n = 1; n <= kLongest; n = n < 40 ? n + 1 : n + 37) {
      const std::vector<Out> got = elementwise<Out, Op, T>(x, y, n, stride);
      for (std::int64_t i = 0; i < n; ++i) {
        ASSERT_EQ(got[i], static_cast<Out>(expected(x[i], y[i * stride])))
            << Op::info.name << ": element " << i << " of " << n << ", stride " << stride;
      }
    }
  }
}

/// Integers from -9 to 9, or from 0 to 18, in two orders.
template <class T>
struct Operands {
  std::vector<T> x = std::vector<T>(3 * kLongest);
  std::vector<T> y = x;

  Operands() {
    const int low = std::numeric_limits<T>::is_signed ? -9 : 0;
    for (int i = 0; i < static_cast<int>(x.size()); ++i) {
      x[i] = static_cast<T>(low + i * 7 % 19);
      y[i] = static_cast<T>(low + i * i % 19);
    }
  }
};

template <class T>
class Elementwise : public ::testing::Test {};
using Numbers = ::testing::Types<std::int32_t, std::int64_t, std::uint64_t, float, double>;
TYPED_TEST_SUITE(Elementwise, Numbers);

TYPED_TEST(Elementwise, ArithmeticAndComparisons) {
  using T = TypeParam;
  const Operands<T> of;
  compare<T, Add, T>(of.x, of.y, [](T a, T b) { return a + b; });
  compare<T, Subtract, T>(of.x, of.y, [](T a, T b) { return a - b; });
  compare<T, Multiply, T>(of.x, of.y, [](T a, T b) { return a * b; });
  compare<T, Maximum, T>(of.x, of.y, [](T a, T b) { return std::max(a, b); });
  compare<std::uint8_t, Less, T>(of.x, of.y, [](T a, T b) { return a < b; });
  compare<std::uint8_t, Equal, T>(of.x, of.y, [](T a, T b) { return a == b; });
  if constexpr (std::is_integral_v<T>) {
    compare<T, FloorDivide, T>(of.x, of.y, [](T a, T b) {
      return b == 0 ? T{0} : static_cast<T>(std::floor(static_cast<double>(a) / static_cast<double>(b)));
    });
  } else {
    const std::vector<T> roots = elementwise<T, Sqrt, T>(of.y, of.y, kLongest, 1);
    for (std::int64_t i = 0; i < kLongest; ++i) {
      if (of.y[i] >= 0) {
        EXPECT_EQ(roots[i], std::sqrt(of.y[i]));
      } else {
        EXPECT_TRUE(std::isnan(roots[i]));
      }
    }
  }
}

TEST(Elementwise, SmallIntegersWrapAround) {
  std::vector<std::int8_t> x(3 * kLongest);
  std::iota(x.begin(), x.end(), 0);
  compare<std::int8_t, Add, std::int8_t>(x, x, [](int a, int b) { return a + b; });
  compare<std::int8_t, Multiply, std::int8_t>(x, x, [](int a, int b) { return a * b; });
}

template <class From, class To>
std::vector<To> cast(const std::vector<From>& from) {
  std::vector<To> to(from.size());
  cpu::Copy2d copy;
  copy.to = reinterpret_cast<char*>(to.data());
  copy.from = reinterpret_cast<const char*>(from.data());
  copy.inner = static_cast<std::int64_t>(from.size());
  copy.to_inner = sizeof(To);
  copy.from_inner = sizeof(From);
  cpu_kernels().movement.cast[static_cast<int>(dtype_of<To>)][static_cast<int>(dtype_of<From>)](copy);
  return to;
}

template <class T>
class Halves : public ::testing::Test {
 protected:
  static std::vector<T> all() {
    std::vector<T> values(65536);
    for (std::uint32_t i = 0; i < values.size(); ++i) values[i].bits = static_cast<std::uint16_t>(i);
    return values;
  }
};
using HalfTypes = ::testing::Types<Half, BFloat16>;
TYPED_TEST_SUITE(Halves, HalfTypes);

TYPED_TEST(Halves, WidenAndRound) {
  using T = TypeParam;
  const std::vector<T> all = this->all();
  const std::vector<float> wide = cast<T, float>(all);
  std::vector<float> between;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto expected = static_cast<float>(all[i]);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(wide[i])) << i;
      continue;
    }
    ASSERT_EQ(std::bit_cast<std::uint32_t>(wide[i]), std::bit_cast<std::uint32_t>(expected)) << i;
    // Values on both sides of the midpoint between neighbors, on it, and far from it.
    for (const std::uint32_t more : {0x0u, 0xfffu, 0x1000u, 0x1001u, 0x7fffu, 0x8000u, 0x8001u})
      between.push_back(std::bit_cast<float>(std::bit_cast<std::uint32_t>(expected) + more));
  }
  const std::vector<T> narrow = cast<float, T>(between);
  for (std::size_t i = 0; i < between.size(); ++i) {
    if (std::isnan(between[i])) {
      ASSERT_TRUE(std::isnan(static_cast<float>(narrow[i]))) << i;
    } else {
      ASSERT_EQ(narrow[i].bits, T(between[i]).bits) << between[i];
    }
  }
}

TYPED_TEST(Halves, AreAddedInFloat) {
  using T = TypeParam;
  const std::vector<T> x = this->all();
  std::vector<T> y = x;
  std::shuffle(y.begin(), y.end(), std::mt19937(5));
  const auto n = static_cast<std::int64_t>(x.size());
  const std::vector<T> got = elementwise<T, Add, T>(x, y, n, 1);
  for (std::int64_t i = 0; i < n; ++i) {
    const T expected(static_cast<float>(x[i]) + static_cast<float>(y[i]));
    if (std::isnan(static_cast<float>(expected))) {
      ASSERT_TRUE(std::isnan(static_cast<float>(got[i]))) << i;
    } else {
      ASSERT_EQ(got[i].bits, expected.bits) << i;
    }
  }
}

TEST(Casts, GiveTheNearestInteger) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const std::vector<float> from{-kInf,  -3e9f, -200, -128.9f, -1.9f,
                                -0.5f,  0,     0.9f, 1.5f,    127.9f,
                                255.9f, 300,   3e9f, kInf,    std::numeric_limits<float>::quiet_NaN()};
  EXPECT_EQ((cast<float, std::int8_t>(from)),
            (std::vector<std::int8_t>{-128, -128, -128, -128, -1, 0, 0, 0, 1, 127, 127, 127, 127, 127, 0}));
  EXPECT_EQ((cast<float, std::uint8_t>(from)),
            (std::vector<std::uint8_t>{0, 0, 0, 0, 0, 0, 0, 0, 1, 127, 255, 255, 255, 255, 0}));
  constexpr std::int32_t kLow = std::numeric_limits<std::int32_t>::min();
  constexpr std::int32_t kHigh = std::numeric_limits<std::int32_t>::max();
  EXPECT_EQ((cast<float, std::int32_t>(from)),
            (std::vector<std::int32_t>{kLow, kLow, -200, -128, -1, 0, 0, 0, 1, 127, 255, 300, kHigh, kHigh, 0}));
}

TEST(Reductions, OfRowsAndColumns) {
  constexpr std::int64_t kRows = 9;
  constexpr std::int64_t kWidth = 133;
  std::vector<std::int32_t> integers(kRows * kWidth);
  std::vector<float> floats(kRows * kWidth);
  for (std::int64_t i = 0; i < kRows * kWidth; ++i) {
    integers[i] = static_cast<std::int32_t>(i * 7919 % 1000) - 300;
    floats[i] = static_cast<float>(integers[i]) / 64;
  }
  const auto of = [](cpu::Reduction reduction, DType dtype) {
    const auto& reduce = cpu_kernels().reduce;
    const auto kind = static_cast<int>(reduction);
    return std::pair{reduce.rows[kind][static_cast<int>(dtype)], reduce.columns[kind][static_cast<int>(dtype)]};
  };
  const auto at = [&](std::int64_t row, std::int64_t column) { return integers[row * kWidth + column]; };

  std::vector<std::int64_t> row_sums(kRows);
  std::vector<std::int64_t> column_sums(kWidth);
  const auto [sum_rows, sum_columns] = of(cpu::Reduction::Sum, DType::Int32);
  sum_rows(integers.data(), 1, kWidth, kRows, kWidth, row_sums.data());
  sum_columns(integers.data(), kWidth, kRows, kWidth, column_sums.data());
  std::vector<float> row_maxima(kRows);
  std::vector<float> column_maxima(kWidth);
  const auto [max_rows, max_columns] = of(cpu::Reduction::Max, DType::Float32);
  max_rows(floats.data(), 1, kWidth, kRows, kWidth, row_maxima.data());
  max_columns(floats.data(), kWidth, kRows, kWidth, column_maxima.data());
  std::vector<std::int64_t> row_positions(kRows);
  of(cpu::Reduction::ArgMax, DType::Float32).first(floats.data(), 1, kWidth, kRows, kWidth, row_positions.data());
  std::vector<float> row_totals(kRows);
  of(cpu::Reduction::Sum, DType::Float32).first(floats.data(), 1, kWidth, kRows, kWidth, row_totals.data());

  for (std::int64_t r = 0; r < kRows; ++r) {
    const auto first = integers.begin() + r * kWidth;
    const std::int64_t sum = std::accumulate(first, first + kWidth, std::int64_t{0});
    const auto largest = std::max_element(first, first + kWidth);
    EXPECT_EQ(row_sums[r], sum);
    EXPECT_EQ(row_totals[r], static_cast<float>(sum) / 64);  // sums of such numbers are exact
    EXPECT_EQ(row_maxima[r], static_cast<float>(*largest) / 64);
    EXPECT_EQ(row_positions[r], largest - first);
  }
  for (std::int64_t c = 0; c < kWidth; ++c) {
    std::int64_t sum = 0;
    std::int32_t largest = at(0, c);
    for (std::int64_t r = 0; r < kRows; ++r) {
      sum += at(r, c);
      largest = std::max(largest, at(r, c));
    }
    EXPECT_EQ(column_sums[c], sum);
    EXPECT_EQ(column_maxima[c], static_cast<float>(largest) / 64);
  }
}

template <class T>
void check_products(void (*const product)(const cpu::MatmulArgs&)) {
  constexpr std::int64_t kM = 17;
  constexpr std::int64_t kK = 23;
  constexpr std::int64_t kN = 19;
  std::vector<T> a(kM * kK);
  std::vector<T> b(kK * kN);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<T>(static_cast<int>(i * 5 % 13) - 6);
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<T>(static_cast<int>(i * 3 % 11) - 5);
  std::vector<T> c(kM * kN);
  product({.a = a.data(),
           .b = b.data(),
           .c = c.data(),
           .m = kM,
           .k = kK,
           .n = kN,
           .a_row = kK,
           .a_column = 1,
           .b_row = kN,
           .b_column = 1,
           .c_row = kN});
  for (std::int64_t i = 0; i < kM; ++i) {
    for (std::int64_t j = 0; j < kN; ++j) {
      T exact{};
      for (std::int64_t l = 0; l < kK; ++l) exact += a[i * kK + l] * b[l * kN + j];
      EXPECT_EQ(c[i * kN + j], exact) << i << ' ' << j;
    }
  }
}

TEST(Products, OfMatrices) {
  const cpu::MatmulKernels& kernels = cpu_kernels().matmul;
  check_products<float>(kernels.small[static_cast<int>(DType::Float32)]);
  check_products<float>(kernels.large[static_cast<int>(DType::Float32)]);
  check_products<double>(kernels.small[static_cast<int>(DType::Float64)]);
  check_products<double>(kernels.large[static_cast<int>(DType::Float64)]);
  check_products<std::int64_t>(kernels.small[static_cast<int>(DType::Int64)]);
}

TEST(Softmax, OfRows) {
  for (const std::int64_t width : {1, 5, 16, 131}) {
    for (const float top : {3.0f, 20000.0f}) {  // the shift of large numbers is rounded
      std::vector<float> x(2 * width);
      for (std::size_t i = 0; i < x.size(); ++i) x[i] = top - static_cast<float>(i * 7 % 23) / 2;
      std::vector<float> y(x.size());
      cpu_kernels().softmax.float32.forward(x.data(), y.data(), 2, width, false, false);
      for (std::int64_t row = 0; row < 2; ++row) {
        double sum = 0;
        for (std::int64_t i = 0; i < width; ++i) sum += std::exp(static_cast<double>(x[row * width + i] - top));
        for (std::int64_t i = row * width; i < (row + 1) * width; ++i)
          EXPECT_NEAR(y[i], std::exp(static_cast<double>(x[i] - top)) / sum, 1e-6) << width << ' ' << top << ' ' << i;
      }
    }
  }
}

template <class T>
void check_numbers(const random::Fill& fill, cpu::RandomFill<T> kernel, double tolerance) {
  constexpr std::int64_t kCount = 2501;
  const auto numbers = std::make_unique<T[]>(kCount);
  kernel(fill, kCount, numbers.get());
  for (std::int64_t i = 0; i < kCount; ++i) {
    constexpr std::int64_t kEach = random::kPerBlock<T>;
    const T expected = random::values_of<T>(fill, static_cast<std::uint64_t>(i / kEach))[i % kEach];
    if (tolerance > 0) {
      ASSERT_NEAR(static_cast<double>(numbers[i]), static_cast<double>(expected), tolerance) << i;
    } else {
      ASSERT_EQ(numbers[i], expected) << i;
    }
  }
}

/// Checks that random numbers have the same bits on every processor, except those computed by logarithms.
TEST(RandomNumbers, AreThoseOfTheirDefinition) {
  using random::Fill;
  const cpu::RandomKernels& kernels = cpu_kernels().random;
  Fill fill{.kind = Fill::Kind::Uniform,
            .seed = 0x123456789abcdef0u,
            .offset = 0xfffffff0u,
            .low = -2,
            .high = 3,
            .top = std::nextafter(3.0f, 0.0f)};
  check_numbers<float>(fill, kernels.float32, 0);
  fill.top = std::nextafter(3.0, 0.0);
  check_numbers<double>(fill, kernels.float64, 0);
  fill.kind = Fill::Kind::Normal;
  check_numbers<float>(fill, kernels.float32, 1e-4);
  check_numbers<double>(fill, kernels.float64, 1e-12);
  fill.kind = Fill::Kind::Integer;
  fill.first = -5;
  fill.range = 1000;
  check_numbers<std::uint64_t>(fill, kernels.integer64, 0);
  fill.range = std::uint64_t{1} << 40;
  check_numbers<std::uint64_t>(fill, kernels.integer64, 0);
  fill.kind = Fill::Kind::Coin;
  fill.range = std::uint64_t{1} << 30;
  check_numbers<bool>(fill, kernels.coins, 0);
}

}  // namespace
}  // namespace lamella
