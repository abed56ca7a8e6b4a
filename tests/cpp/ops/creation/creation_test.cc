#include <limits>

#include "ops/registration/all_ops.h"
#include "tests/cpp/gradcheck.h"

namespace lamella::testing {
namespace {

TEST(Creation, FilledTensors) {
  EXPECT_EQ(values<float>(zeros({2, 2})), Floats(4, 0));
  EXPECT_EQ(values<std::int32_t>(ones({3}, DType::Int32)), (std::vector<std::int32_t>{1, 1, 1}));
  EXPECT_EQ(full({2}, 7).dtype(), DType::Int64);
  EXPECT_EQ(full({2}, true).dtype(), DType::Bool);
  EXPECT_EQ(full({2}, 0.5).dtype(), DType::Float32);
  EXPECT_EQ(values<double>(full({}, -1.5, DType::Float64)), std::vector<double>{-1.5});
  EXPECT_EQ(values<float>(full_like(zeros({1, 2}), 3)), (Floats{3, 3}));
  EXPECT_EQ(ones_like(zeros({2, 3}, DType::Int64)).dtype(), DType::Int64);
  EXPECT_EQ(values<std::complex<float>>(full({1}, 2.5, DType::Complex64))[0], std::complex<float>(2.5f));
  EXPECT_EQ(static_cast<float>(full({1}, 0.1, DType::Float16).data<Half>()[0]), static_cast<float>(Half(0.1f)));
  expect_error<ValueError>([] { zeros({-1}); }, "negative size");
}

TEST(Creation, LargeFills) {
  const Tensor x = full({100'001}, 3);
  EXPECT_EQ(sum(x).data<std::int64_t>()[0], 300'003);
}

TEST(Creation, Arange) {
  EXPECT_EQ(values<std::int64_t>(arange(4)), (Ints{0, 1, 2, 3}));
  EXPECT_EQ(values<std::int64_t>(arange(2, 10, 3)), (Ints{2, 5, 8}));
  EXPECT_EQ(values<std::int64_t>(arange(5, 0, -2)), (Ints{5, 3, 1}));
  EXPECT_EQ(arange(3, 3).numel(), 0);
  EXPECT_EQ(arange(3, 1).numel(), 0);
  EXPECT_EQ(values<float>(arange(0.0, 1.0, 0.25)), (Floats{0, 0.25f, 0.5f, 0.75f}));
  EXPECT_EQ(values<float>(arange(3, std::nullopt, 1, DType::Float32)), (Floats{0, 1, 2}));
  EXPECT_EQ(values<std::int64_t>(
                arange(std::numeric_limits<std::int64_t>::max() - 2, std::numeric_limits<std::int64_t>::max(), 2)),
            Ints{std::numeric_limits<std::int64_t>::max() - 2});
  expect_error<ValueError>([] { arange(0, 1, 0); }, "[arange] step must not be 0");
  expect_error<ValueError>([] { arange(0.0, std::numeric_limits<double>::infinity(), 1.0); }, "[arange] cannot count");
  expect_error<ValueError>([] { arange(std::nan("")); }, "[arange] cannot count");
}

TEST(Creation, Linspace) {
  EXPECT_EQ(values<float>(linspace(0, 1, 5)), (Floats{0, 0.25f, 0.5f, 0.75f, 1}));
  EXPECT_EQ(values<float>(linspace(0, 1, 4, std::nullopt, std::nullopt, false)), (Floats{0, 0.25f, 0.5f, 0.75f}));
  EXPECT_EQ(values<float>(linspace(3, 9, 1)), Floats{3});
  EXPECT_EQ(linspace(0, 1, 0).numel(), 0);
  EXPECT_EQ(values<double>(linspace(0, 0.3, 4, DType::Float64)).back(), 0.3);
  expect_error<ValueError>([] { linspace(0, 1, -1); }, "[linspace] num must not be negative");
}

TEST(Creation, EyeAndTriangles) {
  EXPECT_EQ(values<float>(eye(2, 3, 1)), (Floats{0, 1, 0, 0, 0, 1}));
  EXPECT_EQ(values<float>(eye(2)), (Floats{1, 0, 0, 1}));
  EXPECT_EQ(eye(0).shape(), (Dims{0, 0}));
  const Tensor x = reshape(arange(1, 7), {2, 3});
  EXPECT_EQ(values<std::int64_t>(tril(x)), (Ints{1, 0, 0, 4, 5, 0}));
  EXPECT_EQ(values<std::int64_t>(triu(x, 1)), (Ints{0, 2, 3, 0, 0, 6}));
  EXPECT_EQ(values<std::int64_t>(tril(x, -1)), (Ints{0, 0, 0, 4, 0, 0}));
  expect_error<ValueError>([] { tril(zeros({3})); }, "[tril] needs at least two axes");
  expect_error<ValueError>([] { eye(-1); }, "[eye]");
  expect_gradients([](const auto& in) { return tril(in[0]); }, {sample({2, 3, 3})});
}

TEST(Creation, Meta) {
  EXPECT_TRUE(zeros({2}, std::nullopt, kMeta).device().is_meta());
  EXPECT_EQ(arange(0, 10, 3, std::nullopt, kMeta).shape(), Dims{4});
  EXPECT_EQ(linspace(0, 1, 7, std::nullopt, kMeta).shape(), Dims{7});
  EXPECT_EQ(eye(3, 4, 0, DType::Int32, kMeta).dtype(), DType::Int32);
  EXPECT_TRUE(triu(zeros({2, 2}, std::nullopt, kMeta)).device().is_meta());
}

}  // namespace
}  // namespace lamella::testing
