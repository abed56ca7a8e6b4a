#include "engine/core/dtype.h"

#include <gtest/gtest.h>

#include <complex>
#include <sstream>
#include <string>

namespace lamella {
namespace {

constexpr DType kAll[] = {DType::Bool,     DType::Int8,    DType::Int16,   DType::Int32,     DType::Int64,
                          DType::UInt8,    DType::UInt16,  DType::UInt32,  DType::UInt64,    DType::Float16,
                          DType::BFloat16, DType::Float32, DType::Float64, DType::Complex64, DType::Complex128};
static_assert(std::size(kAll) == kDTypeCount);

DType parse(const std::string& text) {
  for (const DType d : kAll) {
    if (name(d) == text) return d;
  }
  throw std::invalid_argument(text);
}

TEST(DTypeTest, SizesAreThoseOfTheCppTypes) {
  for (const DType d : kAll) {
    const std::size_t size = visit<AnyDType>(d, "test", []<class T> { return sizeof(T); });
    EXPECT_EQ(item_size(d), size) << d;
  }
}

TEST(DTypeTest, TypesAndDTypesAreInverse) {
  for (const DType d : kAll) {
    EXPECT_EQ(visit<AnyDType>(d, "test", []<class T> { return dtype_of<T>; }), d);
  }
  EXPECT_EQ(dtype_of<float>, DType::Float32);
  EXPECT_EQ(dtype_of<std::complex<double>>, DType::Complex128);
}

TEST(DTypeTest, NamesAreDistinctAndPrinted) {
  for (const DType d : kAll) EXPECT_EQ(parse(std::string(name(d))), d);
  std::ostringstream out;
  out << DType::BFloat16;
  EXPECT_EQ(out.str(), "bfloat16");
}

TEST(DTypeTest, EveryDTypeIsInExactlyOneFamily) {
  for (const DType d : kAll) {
    const int families = Boolean.contains(d) + SignedInteger.contains(d) + UnsignedInteger.contains(d) +
                         Floating.contains(d) + Complex.contains(d);
    EXPECT_EQ(families, 1) << d;
    EXPECT_TRUE(AnyDType.contains(d)) << d;
    EXPECT_EQ(is_differentiable(d), is_floating(d) || is_complex(d)) << d;
    EXPECT_EQ(is_integral(d), SignedInteger.contains(d) || UnsignedInteger.contains(d)) << d;
  }
}

TEST(DTypeTest, SetsFollowSetAlgebra) {
  EXPECT_EQ(Real - Floating, Integral);
  EXPECT_TRUE((Floating & Complex).empty());
  EXPECT_EQ(DTypeSet(DType::Int8) | DType::Int16, (DTypeSet{DType::Int8, DType::Int16}));
  EXPECT_FALSE((AnyDType - Boolean).contains(DType::Bool));
}

TEST(DTypeTest, VisitRefusesWhatIsNotInTheSet) {
  try {
    visit<Floating>(DType::Int32, "sqrt", []<class T> { return 0; });
    FAIL() << "int32 was taken";
  } catch (const TypeError& error) {
    EXPECT_STREQ(error.what(), "[sqrt] does not take dtype int32");
  }
}

// Tables of the array API standard 2024.12, "Type Promotion Rules": rows and columns in the order of `dtypes`; "-"
// where the standard leaves the pair undefined and this library raises.
struct Table {
  std::vector<std::string> dtypes;
  std::vector<std::vector<std::string>> result;
};

const Table kTables[] = {
    {{"int8", "int16", "int32", "int64"},
     {{"int8", "int16", "int32", "int64"},
      {"int16", "int16", "int32", "int64"},
      {"int32", "int32", "int32", "int64"},
      {"int64", "int64", "int64", "int64"}}},
    {{"uint8", "uint16", "uint32", "uint64"},
     {{"uint8", "uint16", "uint32", "uint64"},
      {"uint16", "uint16", "uint32", "uint64"},
      {"uint32", "uint32", "uint32", "uint64"},
      {"uint64", "uint64", "uint64", "uint64"}}},
    {{"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"},
     {{"int8", "int16", "int32", "int64", "int16", "int32", "int64", "-"},
      {"int16", "int16", "int32", "int64", "int16", "int32", "int64", "-"},
      {"int32", "int32", "int32", "int64", "int32", "int32", "int64", "-"},
      {"int64", "int64", "int64", "int64", "int64", "int64", "int64", "-"},
      {"int16", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"},
      {"int32", "int32", "int32", "int64", "uint16", "uint16", "uint32", "uint64"},
      {"int64", "int64", "int64", "int64", "uint32", "uint32", "uint32", "uint64"},
      {"-", "-", "-", "-", "uint64", "uint64", "uint64", "uint64"}}},
    {{"float32", "float64", "complex64", "complex128"},
     {{"float32", "float64", "complex64", "complex128"},
      {"float64", "float64", "complex128", "complex128"},
      {"complex64", "complex128", "complex64", "complex128"},
      {"complex128", "complex128", "complex128", "complex128"}}},
    // Narrow floats go beyond the standard.
    {{"float16", "bfloat16", "float32", "float64", "complex64"},
     {{"float16", "float32", "float32", "float64", "complex64"},
      {"float32", "bfloat16", "float32", "float64", "complex64"},
      {"float32", "float32", "float32", "float64", "complex64"},
      {"float64", "float64", "float64", "float64", "complex128"},
      {"complex64", "complex64", "complex64", "complex128", "complex64"}}},
};

TEST(PromotionTest, FollowsTheArrayApiTables) {
  for (const Table& table : kTables) {
    for (std::size_t i = 0; i < table.dtypes.size(); ++i) {
      for (std::size_t k = 0; k < table.dtypes.size(); ++k) {
        const DType a = parse(table.dtypes[i]);
        const DType b = parse(table.dtypes[k]);
        const std::string& expected = table.result[i][k];
        if (expected == "-") {
          EXPECT_THROW(promote_types(a, b), TypeError) << a << " " << b;
        } else {
          EXPECT_EQ(name(promote_types(a, b)), expected) << a << " " << b;
        }
      }
    }
  }
}

TEST(PromotionTest, BoolGivesWayAndIntegersTakeTheFloatsDType) {
  for (const DType d : kAll) {
    EXPECT_EQ(promote_types(DType::Bool, d), d);
    EXPECT_EQ(promote_types(d, DType::Bool), d);
    EXPECT_EQ(promote_types(d, d), d);
    if (!is_integral(d)) continue;
    for (const DType f : kAll) {
      if (is_differentiable(f)) {
        EXPECT_EQ(promote_types(d, f), f);
      }
    }
  }
}

TEST(PromotionTest, IsSymmetricAndAbsorbsItsOperands) {
  const auto defined = [](DType a, DType b, DType& out) {
    try {
      out = promote_types(a, b);
      return true;
    } catch (const TypeError&) {
      return false;
    }
  };
  for (const DType a : kAll) {
    for (const DType b : kAll) {
      DType ab{};
      DType ba{};
      const bool ok = defined(a, b, ab);
      ASSERT_EQ(ok, defined(b, a, ba)) << a << " " << b;
      if (!ok) continue;
      EXPECT_EQ(ab, ba);
      DType again{};
      ASSERT_TRUE(defined(ab, a, again));
      EXPECT_EQ(again, ab) << "the result holds both operands' values: " << a << " " << b;
    }
  }
}

}  // namespace
}  // namespace lamella
