#include "ops/random/random.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <thread>

#include "engine/runtime/generator.h"
#include "engine/runtime/parallel.h"
#include "engine/runtime/philox.h"
#include "ops/registration/all_ops.h"
#include "tests/cpp/tensors.h"

namespace lamella::testing {
namespace {

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

TEST(Random, AGeneratorOfOnesOwnIsDrawnFromAlone) {
  using Draw = std::function<Tensor(Generator*)>;
  const Tensor p = full({1001}, 0.3, DType::Float32);
  const std::vector<Draw> draws{
      [](Generator* g) { return rand({1001}, std::nullopt, kCPU, g); },
      [](Generator* g) { return randn({1001}, DType::Float16, kCPU, g); },
      [](Generator* g) { return uniform({1001}, -1, 1, DType::Float64, kCPU, g); },
      [](Generator* g) { return normal({1001}, 2, 3, std::nullopt, kCPU, g); },
      [](Generator* g) { return randint(-9, 9, {1001}, std::nullopt, kCPU, g); },
      [](Generator* g) { return randperm(1001, std::nullopt, kCPU, g); },
      [&](Generator* g) { return bernoulli(p, g); },
      [&](Generator* g) { return dropout(p, 0.5, true, g); },
  };
  for (std::size_t i = 0; i < draws.size(); ++i) {
    const auto draw = [&](Generator* g) { return values<double>(cast(draws[i](g), DType::Float64)); };
    Generator own(3);
    seed(8);
    const GeneratorState before = default_generator().get_state();
    const auto first = draw(&own);
    EXPECT_EQ(default_generator().get_state(), before) << i;
    EXPECT_GT(own.get_state().offset, 0u) << i;
    const GeneratorState after = own.get_state();
    EXPECT_NE(draw(&own), first) << i;
    // The generator draws the default generator's numbers under the same seed.
    seed(3);
    EXPECT_EQ(draw(nullptr), first) << i;
    EXPECT_EQ(default_generator().get_state(), after) << i;
    Generator elsewhere(3, {DeviceType::CUDA, 0});
    expect_error<ValueError>([&] { draws[i](&elsewhere); }, "cuda:0");
    expect_error<ValueError>([&] { draws[i](&elsewhere); }, "cpu");
    EXPECT_EQ(elsewhere.get_state().offset, 0u);
  }
}

TEST(Random, MetaTakesNoNumbers) {
  Generator own(3), elsewhere(3, {DeviceType::CUDA, 0});
  const GeneratorState before = default_generator().get_state();
  for (Generator* generator : std::initializer_list<Generator*>{nullptr, &own, &elsewhere}) {
    EXPECT_TRUE(randn({4}, std::nullopt, kMeta, generator).device().is_meta());
    EXPECT_TRUE(randperm(4, std::nullopt, kMeta, generator).device().is_meta());
    EXPECT_TRUE(dropout(empty({4}, DType::Float32, kMeta), 0.5, true, generator).device().is_meta());
  }
  EXPECT_EQ(own.get_state().offset, 0u);
  EXPECT_EQ(default_generator().get_state(), before);
}

TEST(Random, ThreadsWithGeneratorsOfTheirOwnAreReproducible) {
  const auto draw = [] {
    std::vector<Generator> own = Generator(5).split(4);
    std::vector<std::vector<float>> drawn(own.size());
    std::vector<std::thread> users;
    for (std::size_t i = 0; i < own.size(); ++i) {
      users.emplace_back([&, i] {
        for (int k = 0; k < 20; ++k) {
          const auto more = values<float>(randn({997}, std::nullopt, kCPU, &own[i]));
          drawn[i].insert(drawn[i].end(), more.begin(), more.end());
        }
      });
    }
    for (std::thread& user : users) user.join();
    return drawn;
  };
  const auto first = draw();
  EXPECT_EQ(draw(), first);
  EXPECT_NE(first[0], first[1]);
}

TEST(Random, EmptyScalarAndMeta) {
  EXPECT_EQ(rand({0, 2}).shape(), (Dims{0, 2}));
  EXPECT_EQ(randn({}).numel(), 1);
  EXPECT_TRUE(rand({2}, std::nullopt, kMeta).device().is_meta());
  EXPECT_THROW(rand({2}, DType::Int32), TypeError);
}

}  // namespace
}  // namespace lamella::testing
