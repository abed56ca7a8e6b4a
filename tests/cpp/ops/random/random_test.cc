#include "ops/random/random.h"

#include <algorithm>
#include <numeric>

#include "engine/runtime/generator.h"
#include "engine/runtime/parallel.h"
#include "engine/runtime/philox.h"
#include "ops/all_ops.h"
#include "tests/cpp/tensors.h"

namespace lamella {
namespace {

using testing::expect_error;
using testing::tensor_of;
using testing::values;

TEST(Random, TheSameSeedGivesTheSameNumbers) {
  seed(3);
  const auto first = values<float>(rand({1000}));
  const auto second = values<float>(rand({1000}));
  EXPECT_NE(first, second);
  seed(3);
  EXPECT_EQ(values<float>(rand({1000})), first);
  EXPECT_EQ(values<float>(rand({1000})), second);
}

TEST(Random, AnyNumberOfThreadsGivesTheSameNumbers) {
  const int before = thread_count();
  const auto draw = [](int threads) {
    set_thread_count(threads);
    seed(11);
    return std::tuple(values<float>(rand({100'003})), values<double>(randn({50'001}, DType::Float64)),
                      values<std::int64_t>(randint(0, 1000, {30'000})));
  };
  const auto alone = draw(1);
  EXPECT_EQ(draw(3), alone);
  EXPECT_EQ(draw(8), alone);
  set_thread_count(before);
}

TEST(Random, UniformNumbersAreUniform) {
  seed(1);
  for (const DType dtype : {DType::Float32, DType::Float64}) {
    const Tensor x = cast(uniform({200'000}, -2, 6, dtype), DType::Float64);
    EXPECT_NEAR(mean(x).data<double>()[0], 2, 0.03);
    EXPECT_GE(min(x).data<double>()[0], -2);
    EXPECT_LT(max(x).data<double>()[0], 6);
    EXPECT_NEAR(mean(square(subtract(x, 2.0))).data<double>()[0], 64.0 / 12, 0.05);
  }
}

TEST(Random, NormalNumbersAreNormal) {
  seed(2);
  for (const DType dtype : {DType::Float32, DType::Float64}) {
    const Tensor x = cast(normal({200'000}, 1, 3, dtype), DType::Float64);
    const Tensor z = divide(subtract(x, 1.0), 3.0);
    EXPECT_NEAR(mean(z).data<double>()[0], 0, 0.01);
    EXPECT_NEAR(mean(square(z)).data<double>()[0], 1, 0.02);
    EXPECT_NEAR(mean(pow(z, 3)).data<double>()[0], 0, 0.05);
    EXPECT_NEAR(mean(pow(z, 4)).data<double>()[0], 3, 0.1);
    EXPECT_TRUE(all(isfinite(z)).data<bool>()[0]);
  }
}

TEST(Random, IntegersCoverTheirRange) {
  seed(4);
  const auto x = values<std::int64_t>(randint(-3, 4, {70'000}));
  std::vector<int> counts(7);
  for (const std::int64_t v : x) {
    ASSERT_TRUE(-3 <= v && v < 4);
    ++counts[static_cast<std::size_t>(v + 3)];
  }
  for (const int count : counts) EXPECT_NEAR(count, 10'000, 500);
  EXPECT_EQ(randint(0, 2, {3}, DType::Int32).dtype(), DType::Int32);
  expect_error<ValueError>([] { randint(3, 3, {1}); }, "[randint]");
}

TEST(Random, PermutationsHoldEveryNumberOnce) {
  seed(6);
  auto x = values<std::int64_t>(randperm(1000));
  EXPECT_FALSE(std::is_sorted(x.begin(), x.end()));
  std::sort(x.begin(), x.end());
  std::vector<std::int64_t> all(1000);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(x, all);
  EXPECT_EQ(randperm(0).numel(), 0);
}

TEST(Random, BernoulliFollowsItsProbabilities) {
  seed(7);
  const Tensor p = broadcast_to(tensor_of<float>({0, 0.3f, 1}), {50'000, 3});
  const auto rates = values<float>(mean(bernoulli(p), 0));
  EXPECT_EQ(rates[0], 0);
  EXPECT_NEAR(rates[1], 0.3, 0.01);
  EXPECT_EQ(rates[2], 1);
}

TEST(Random, EmptyScalarAndMeta) {
  EXPECT_EQ(rand({0, 2}).shape(), (Dims{0, 2}));
  EXPECT_EQ(randn({}).numel(), 1);
  EXPECT_TRUE(rand({2}, std::nullopt, kMeta).device().is_meta());
  EXPECT_THROW(rand({2}, DType::Int32), TypeError);
}

}  // namespace
}  // namespace lamella
