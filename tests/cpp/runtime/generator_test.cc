#include "engine/runtime/generator.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "engine/runtime/philox.h"

namespace lamella {
namespace {

// The known answers that the authors publish with their Random123 library (kat_vectors, philox4x32 with 10 rounds).
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

}  // namespace
}  // namespace lamella
