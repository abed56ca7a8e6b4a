#include "tests/cuda/support.h"

#include <functional>

// Tests generators of CUDA devices: each draws from its own stream, independent of the CPU's.

namespace lamella::test {
namespace {

class RandomNumbers : public Cuda {};

TEST_F(RandomNumbers, ComeFromTheGeneratorOfTheDevice) {
  seed(5);
  const GeneratorState before = default_generator().get_state();
  const Tensor first = rand({1000}, DType::Float32, kGpu);
  EXPECT_EQ(default_generator().get_state(), before);
  EXPECT_EQ(default_generator(kGpu).get_state(), (GeneratorState{5, 250, 0}));
  EXPECT_NE(values(rand({1000}, DType::Float32, kGpu)), values(first));
  // A seed gives the same stream on every device.
  EXPECT_TRUE(agree(first, rand({1000}, DType::Float32, kCPU)));
}

TEST_F(RandomNumbers, ComeFromAGeneratorOfOnesOwn) {
  using Draw = std::function<Tensor(Device, Generator*)>;
  const std::vector<Draw> draws{
      [](Device d, Generator* g) { return rand({1001}, std::nullopt, d, g); },
      [](Device d, Generator* g) { return randn({1001}, DType::Float64, d, g); },
      [](Device d, Generator* g) { return randint(-9, 9, {1001}, std::nullopt, d, g); },
      [](Device d, Generator* g) { return randperm(1001, std::nullopt, d, g); },
      [](Device d, Generator* g) { return bernoulli(full({1001}, 0.3, DType::Float32, d), g); },
      [](Device d, Generator* g) { return poisson(full({1001}, 30.0, DType::Float64, d), g); },
      [](Device d, Generator* g) {
        return Gamma::call(Dims{1001}, full({1001}, 0.7, DType::Float64, d), Scalar(2.0), std::nullopt, d, g);
      },
      [](Device d, Generator* g) {
        return TruncatedNormal::call(Dims{1001}, Scalar(0.0), Scalar(1.0), Scalar(0.5), Scalar(4.0), std::nullopt, d,
                                     g);
      },
      [](Device d, Generator* g) { return multinomial(arange(9, std::nullopt, 1, DType::Float64, d), 1001, true, g); },
      [](Device d, Generator* g) { return multinomial(ones({300}, DType::Float64, d), 200, false, g); },
      [](Device d, Generator* g) { return dropout(ones({1001}, DType::Float32, d), 0.5, true, g); },
  };
  for (std::size_t i = 0; i < draws.size(); ++i) {
    Generator here(3), there(3, kGpu);
    const auto states = rng_states();
    EXPECT_TRUE(agree(draws[i](kGpu, &there), draws[i](kCPU, &here))) << i;
    EXPECT_EQ(here.get_state(), there.get_state()) << i;
    EXPECT_EQ(rng_states(), states) << i;
    EXPECT_THROW(draws[i](kGpu, &here), ValueError) << i;
    EXPECT_THROW(draws[i](kCPU, &there), ValueError) << i;
  }
}

TEST_F(RandomNumbers, GoBackWithTheStatesOfAllDevices) {
  const auto draw = [] { return values(randn({100}, DType::Float32, kGpu)); };
  const auto states = rng_states();
  const auto first = draw();
  {
    const ForkRng scope;
    EXPECT_NE(draw(), first);
  }
  restore_rng_states(states);
  EXPECT_EQ(draw(), first);
}

TEST_F(RandomNumbers, AreOfDevicesThatExist) {
  EXPECT_THROW(default_generator({DeviceType::CUDA, cuda::device_count()}), RuntimeError);
}

}  // namespace
}  // namespace lamella::test
