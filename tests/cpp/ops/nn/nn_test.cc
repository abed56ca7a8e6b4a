#include <cmath>
#include <limits>

#include "engine/runtime/parallel.h"
#include "ops/registration/all_ops.h"
#include "tests/cpp/gradcheck.h"

namespace lamella::testing {
namespace {

Tensor classes(const std::vector<std::int64_t>& numbers) { return tensor_of<std::int64_t>(numbers); }

TEST(Softmax, RowsSumToOneOverAnyAxis) {
  for (const std::int64_t width : {1, 3, 16, 17, 100}) {
    const Tensor x = sample({4, width, 3}, 20);
    for (const std::int64_t axis : {0, 1, -1}) {
      const Tensor y = softmax(x, axis);
      for (const double total : values<double>(sum(y, axis))) EXPECT_NEAR(total, 1, 1e-12);
      const Tensor expected = subtract(x, log(sum(exp(x), axis, true)));
      const std::vector<double> e = values<double>(expected);
      const std::vector<double> found = values<double>(log_softmax(x, axis));
      for (std::size_t i = 0; i < e.size(); ++i) EXPECT_NEAR(found[i], e[i], 1e-11);
    }
  }
}

TEST(Softmax, LargeValuesDoNotOverflow) {
  const std::vector<float> y = values<float>(softmax(tensor_of<float>({1000, 1000, -1000})));
  EXPECT_EQ(y, (std::vector<float>{0.5f, 0.5f, 0}));
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(values<float>(softmax(tensor_of<float>({0, -inf}))), (std::vector<float>{1, 0}));
  EXPECT_TRUE(std::isnan(values<float>(softmax(tensor_of<float>({-inf, -inf})))[0]));
}

TEST(Softmax, EmptyMetaAndErrors) {
  EXPECT_EQ(softmax(zeros({0, 3})).shape(), (Dims{0, 3}));
  EXPECT_EQ(log_softmax(zeros({3, 0})).shape(), (Dims{3, 0}));
  EXPECT_TRUE(softmax(empty({2, 3}, DType::Float32, kMeta)).device().is_meta());
  expect_error<IndexError>([] { softmax(zeros({2}), 1); }, "[softmax] axis 1");
  expect_error<TypeError>([] { softmax(cast(zeros({2}), DType::Complex64)); }, "[softmax]");
}

TEST(Softmax, Gradients) {
  for (const std::int64_t axis : {0, 1}) {
    expect_gradients([&](const auto& in) { return softmax(in[0], axis); }, {sample({3, 4})});
    expect_gradients([&](const auto& in) { return log_softmax(in[0], axis); }, {sample({3, 4})});
  }
}

TEST(CrossEntropy, IsTheMeanNegativeLogProbability) {
  const Tensor x = sample({5, 7}, 3);
  const std::vector<std::int64_t> target{0, 6, 3, 3, 1};
  const std::vector<double> logs = values<double>(log_softmax(x));
  double total = 0;
  for (std::size_t i = 0; i < 5; ++i) total -= logs[i * 7 + static_cast<std::size_t>(target[i])];
  EXPECT_NEAR(values<double>(cross_entropy(x, classes(target)))[0], total / 5, 1e-12);
  EXPECT_NEAR(values<double>(cross_entropy(x, classes(target), std::nullopt, -100, "sum"))[0], total, 1e-12);
  EXPECT_EQ(cross_entropy(x, classes(target), std::nullopt, -100, "none").shape(), Dims{5});
}

TEST(CrossEntropy, Errors) {
  const Tensor x = zeros({2, 3});
  expect_error<IndexError>([&] { cross_entropy(x, classes({0, 3})); }, "3");
  expect_error<IndexError>([&] { cross_entropy(x, classes({-1, 0})); }, "-1");
  expect_error<TypeError>([&] { cross_entropy(x, zeros({2})); }, "[cross_entropy]");
  expect_error<ValueError>([&] { cross_entropy(x, classes({0})); }, "[cross_entropy]");
  expect_error<ValueError>([&] { cross_entropy(x, classes({0, 1}), std::nullopt, -100, "median"); }, "[cross_entropy]");
}

TEST(CrossEntropy, Gradients) {
  for (const char* reduction : {"mean", "sum", "none"}) {
    expect_gradients(
        [&](const auto& in) { return cross_entropy(in[0], classes({0, 2, 2}), std::nullopt, -100, reduction); },
        {sample({3, 4})});
  }
}

TEST(Loss, MeanSquaredError) {
  const Tensor a = tensor_of<float>({1, 2});
  const Tensor b = tensor_of<float>({3, 2});
  EXPECT_EQ(values<float>(mse_loss(a, b)), std::vector<float>{2});
  EXPECT_EQ(values<float>(mse_loss(a, b, "sum")), std::vector<float>{4});
  expect_gradients([](const auto& in) { return mse_loss(in[0], in[1]); }, {sample({2, 2}), sample({2, 2}, 2, 3)});
}

TEST(OneHot, MarksTheClass) {
  EXPECT_EQ(values<float>(cast(one_hot(classes({1, 0}), 3), DType::Float32)), (std::vector<float>{0, 1, 0, 1, 0, 0}));
  EXPECT_THROW(one_hot(classes({3}), 3), IndexError);
}

TEST(Dropout, KeepsTheMean) {
  seed(5);
  const Tensor y = dropout(ones({100'000}), 0.25);
  EXPECT_NEAR(mean(y).data<float>()[0], 1, 0.02);
  EXPECT_NEAR(static_cast<double>(sum(equal(y, 0)).data<std::int64_t>()[0]), 25'000, 600);
  EXPECT_EQ(values<float>(dropout(ones({3}), 0.5, false)), (std::vector<float>{1, 1, 1}));
  EXPECT_THROW(dropout(ones({3}), 1.5), ValueError);
}

}  // namespace
}  // namespace lamella::testing
