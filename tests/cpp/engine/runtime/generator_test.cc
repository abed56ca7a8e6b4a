#include "engine/runtime/generator.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "engine/core/error.h"
#include "engine/runtime/philox.h"

namespace lamella {
namespace {

// Compares with the known answers that the authors publish with their Random123 library (kat_vectors, philox4x32 with
// 10 rounds).
TEST(Philox, GivesThePublishedNumbers) {
  EXPECT_EQ(Philox::rounds({0, 0, 0, 0}, {0, 0}), (Philox::Block{0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u}));
  EXPECT_EQ(Philox::rounds({0xffffffffu, 0xffffffffu, 0xffffffffu, 0xffffffffu}, {0xffffffffu, 0xffffffffu}),
            (Philox::Block{0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu}));
  EXPECT_EQ(Philox::rounds({0x243f6a88u, 0x85a308d3u, 0x13198a2eu, 0x03707344u}, {0xa4093822u, 0x299f31d0u}),
            (Philox::Block{0xd16cfe09u, 0x94fdccebu, 0x5001e420u, 0x24126ea1u}));
}

TEST(Philox, TakesThe64BitCounterAndSeedByWords) {
  EXPECT_EQ(Philox::at(0x1122334455667788u, 0x99aabbccddeeff00u),
            Philox::rounds({0xddeeff00u, 0x99aabbccu, 0, 0}, {0x55667788u, 0x11223344u}));
}

TEST(Generator, HandsOutEveryCounterOnce) {
  Generator generator(7);
  EXPECT_EQ(generator.reserve(10), (GeneratorState{7, 0}));
  EXPECT_EQ(generator.reserve(5), (GeneratorState{7, 10}));
  EXPECT_EQ(generator.get_state(), (GeneratorState{7, 15}));
  generator.manual_seed(9);
  EXPECT_EQ(generator.reserve(1), (GeneratorState{9, 0}));
  generator.set_state({7, 10});
  EXPECT_EQ(generator.reserve(5), (GeneratorState{7, 10}));
}

TEST(Generator, IsSafeToShare) {
  Generator generator(1);
  std::vector<std::thread> users;
  for (int i = 0; i < 4; ++i) {
    users.emplace_back([&] {
      for (int k = 0; k < 1000; ++k) generator.reserve(3);
    });
  }
  for (std::thread& user : users) user.join();
  EXPECT_EQ(generator.get_state().offset, 4u * 1000u * 3u);
}

TEST(Generator, SeedsItself) {
  Generator generator;
  EXPECT_EQ(generator.initial_seed(), Generator::kDefaultSeed);
  generator.reserve(4);
  generator.fork();
  const std::uint64_t drawn = generator.seed();
  EXPECT_EQ(generator.get_state(), (GeneratorState{drawn, 0, 0}));
  EXPECT_NE(generator.seed(), drawn);
}

TEST(Generator, AClonePicksUpWhereItsOriginalStands) {
  Generator generator(3, {DeviceType::CUDA, 1});
  generator.reserve(8);
  generator.fork();
  Generator same = generator.clone();
  EXPECT_EQ(same.get_state(), (GeneratorState{3, 8, 1}));
  EXPECT_EQ(same.device(), (Device{DeviceType::CUDA, 1}));
  same.reserve(1);
  EXPECT_EQ(generator.get_state().offset, 8u);
  const Generator moved = std::move(same);
  EXPECT_EQ(moved.get_state(), (GeneratorState{3, 9, 1}));
}

TEST(Generator, DrawsNothingForMeta) { EXPECT_THROW(Generator(1, kMeta), ValueError); }

TEST(Generator, ForksByPhilox) {
  Generator generator(0x1122334455667788u, {DeviceType::CUDA, 2});
  generator.set_state({0x1122334455667788u, 5, 0x100000007u});
  const Generator fork = generator.fork();
  const Philox::Block words = Philox::rounds({7, 1, 1, 0}, {0x55667788u, 0x11223344u});
  EXPECT_EQ(fork.initial_seed(), words[0] | std::uint64_t{words[1]} << 32);
  EXPECT_EQ(fork.get_state().offset, 0u);
  EXPECT_EQ(fork.device(), (Device{DeviceType::CUDA, 2}));
  EXPECT_EQ(generator.get_state(), (GeneratorState{0x1122334455667788u, 5, 0x100000008u}));
}

TEST(Generator, ForksDoNotDependOnDraws) {
  Generator one(5), other(5);
  other.reserve(1000);
  EXPECT_EQ(one.fork().get_state(), other.fork().get_state());
  const std::vector<Generator> parts = one.split(3);
  for (const Generator& part : parts) EXPECT_EQ(part.get_state(), other.fork().get_state());
  EXPECT_TRUE(one.split(0).empty());
  EXPECT_EQ(one.get_state(), (GeneratorState{5, 0, 4}));
}

TEST(Generator, FamiliesOfForksShareNoStream) {
  std::set<std::uint64_t> seeds;
  std::size_t made = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Generator root(seed);
    seeds.insert(seed);
    ++made;
    for (Generator& child : root.split(50)) {
      seeds.insert(child.initial_seed());
      ++made;
      for (const Generator& grandchild : child.split(10)) {
        seeds.insert(grandchild.initial_seed());
        ++made;
      }
    }
  }
  EXPECT_EQ(seeds.size(), made);
}

/// Returns the first `count` words of a stream, scaled to mean 0 and variance 1.
std::vector<double> standardized(std::uint64_t seed, std::size_t count) {
  std::vector<double> numbers;
  for (std::uint64_t block = 0; numbers.size() < count; ++block) {
    for (const std::uint32_t word : Philox::at(seed, block))
      numbers.push_back((word * 0x1p-32 - 0.5) * std::sqrt(12.0));
  }
  return numbers;
}

TEST(Generator, ForksAreNotCorrelated) {
  constexpr std::size_t kCount = 20'000;
  std::vector<std::vector<double>> streams;
  Generator root(1);
  streams.push_back(standardized(root.initial_seed(), kCount));
  // Streams: children, the first one's children, and those of a neighboring seed.
  std::vector<Generator> children = root.split(12);
  for (const Generator& child : children) streams.push_back(standardized(child.initial_seed(), kCount));
  for (const Generator& child : children[0].split(12)) streams.push_back(standardized(child.initial_seed(), kCount));
  for (const Generator& child : Generator(2).split(12)) streams.push_back(standardized(child.initial_seed(), kCount));
  double squares = 0;
  int pairs = 0;
  for (std::size_t i = 0; i < streams.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k, ++pairs) {
      double product = 0;
      for (std::size_t n = 0; n < kCount; ++n) product += streams[i][n] * streams[k][n];
      // z is normal with variance 1 if the streams are independent.
      const double z = product / std::sqrt(double{kCount});
      EXPECT_LT(std::abs(z), 4.5) << i << " and " << k;
      squares += z * z;
    }
  }
  EXPECT_NEAR(squares / pairs, 1, 5 * std::sqrt(2.0 / pairs));
}

TEST(Generator, ForksOfSeveralThreadsAreAllDifferent) {
  Generator generator(1);
  std::vector<std::vector<std::uint64_t>> seeds(4);
  std::vector<std::thread> users;
  users.reserve(seeds.size());
  for (auto& own : seeds) {
    users.emplace_back([&] {
      for (int k = 0; k < 500; ++k) own.push_back(generator.fork().initial_seed());
    });
  }
  for (std::thread& user : users) user.join();
  std::set<std::uint64_t> all;
  for (const auto& own : seeds) all.insert(own.begin(), own.end());
  EXPECT_EQ(all.size(), 2000u);
  std::set<std::uint64_t> serial;
  for (const Generator& fork : Generator(1).split(2000)) serial.insert(fork.initial_seed());
  EXPECT_EQ(all, serial);
}

}  // namespace
}  // namespace lamella
