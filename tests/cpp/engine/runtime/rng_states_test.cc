#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <thread>
#include <vector>

#include "engine/core/error.h"
#include "engine/runtime/device_query.h"
#include "engine/runtime/fork_rng.h"
#include "engine/runtime/generator.h"
#include "engine/runtime/random_lease.h"

// Tests the default generators: one for each device, their states, and scopes that restore them.

namespace lamella {
namespace {

constexpr Device kFirst{DeviceType::PrivateUse1, 0};

/// Registers devices that have a count and nothing else: generators need no more. Each test takes a device that no
/// other has used, as a generator once made stays. The devices stay, too, as later tests come upon their generators.
class RngStates : public ::testing::Test {
 protected:
  void SetUp() override { bring_devices(); }
  void TearDown() override { bring_devices(); }

  static void bring_devices() {
    register_device_runtime(DeviceType::PrivateUse1, {.count = []() noexcept { return 100; }});
  }

  static Device unused_device() {
    static int next = 1;
    return {DeviceType::PrivateUse1, next++};
  }
  static bool is_listed(const std::vector<DeviceRngState>& states, Device device) {
    return std::ranges::find(states, device, &DeviceRngState::device) != states.end();
  }
};

TEST_F(RngStates, EveryDeviceHasAGeneratorOfItsOwn) {
  EXPECT_EQ(&default_generator(), &default_generator(kCPU));
  EXPECT_NE(&default_generator(), &default_generator(kFirst));
  EXPECT_EQ(default_generator(kFirst).device(), kFirst);
  EXPECT_THROW(default_generator(kMeta), ValueError);
  EXPECT_THROW(default_generator({DeviceType::PrivateUse1, 100}), RuntimeError);
  EXPECT_THROW(default_generator({DeviceType::PrivateUse1, -1}), RuntimeError);
  EXPECT_THROW(default_generator({DeviceType::CUDA, 127}), RuntimeError);
}

TEST_F(RngStates, ASeedReachesDevicesThatAreUsedLater) {
  default_generator(kFirst).reserve(3);
  seed(17);
  const Device later = unused_device();
  EXPECT_FALSE(is_listed(rng_states(), later));
  for (const Device device : {kCPU, kFirst, later}) {
    EXPECT_EQ(default_generator(device).get_state(), (GeneratorState{17, 0, 0})) << device;
  }
  EXPECT_TRUE(is_listed(rng_states(), later));
}

TEST_F(RngStates, GoBackWhereTheyWere) {
  seed(1);
  default_generator().reserve(5);
  default_generator(kFirst).reserve(6);
  default_generator(kFirst).fork();
  const auto states = rng_states();
  const Device later = unused_device();
  seed(2);
  default_generator().reserve(7);
  default_generator(later).reserve(8);
  restore_rng_states(states);
  EXPECT_EQ(default_generator().get_state(), (GeneratorState{1, 5, 0}));
  EXPECT_EQ(default_generator(kFirst).get_state(), (GeneratorState{1, 6, 1}));
  // A generator first used inside the scope returns to the state in which its first use found it.
  EXPECT_EQ(default_generator(later).get_state(), (GeneratorState{1, 0, 0}));
  // A generator not used yet starts from the seed in force when the states were taken.
  EXPECT_EQ(default_generator(unused_device()).get_state(), (GeneratorState{1, 0, 0}));
}

TEST_F(RngStates, OfSomeDevicesLeaveTheOthers) {
  seed(1);
  const auto states = rng_states(std::vector{kFirst});
  EXPECT_EQ(states, (std::vector<DeviceRngState>{{kFirst, {1, 0, 0}}}));
  seed(2);
  restore_rng_states(states);
  EXPECT_EQ(default_generator(kFirst).initial_seed(), 1u);
  EXPECT_EQ(default_generator().initial_seed(), 2u);
  EXPECT_EQ(default_generator(unused_device()).initial_seed(), 2u);
  EXPECT_THROW(rng_states(std::vector{kMeta}), ValueError);
}

TEST_F(RngStates, OfAMissingDeviceChangeNothing) {
  seed(1);
  const std::vector<DeviceRngState> states{{kCPU, {9, 9, 9}}, {Device{DeviceType::CUDA, 127}, {9, 9, 9}}, {kMeta, {9}}};
  EXPECT_THROW(restore_rng_states(states), RuntimeError);
  EXPECT_EQ(default_generator().get_state(), (GeneratorState{1, 0, 0}));
  EXPECT_EQ(default_generator(unused_device()).initial_seed(), 1u);
}

TEST_F(RngStates, AScopeLeavesNoTrace) {
  seed(4);
  default_generator(kFirst).reserve(2);
  try {
    const ForkRng scope;
    seed(5);
    default_generator().reserve(10);
    {
      const ForkRng inner;
      seed(6);
    }
    EXPECT_EQ(default_generator().get_state(), (GeneratorState{5, 10, 0}));
    throw std::runtime_error("out of the scope");
  } catch (const std::runtime_error&) {
    EXPECT_EQ(default_generator().get_state(), (GeneratorState{4, 0, 0}));
  }
  EXPECT_EQ(default_generator(kFirst).get_state(), (GeneratorState{4, 2, 0}));
  {
    const ForkRng scope{kFirst};
    seed(7);
  }
  EXPECT_EQ(default_generator(kFirst).get_state(), (GeneratorState{4, 2, 0}));
  EXPECT_EQ(default_generator().initial_seed(), 7u);
  EXPECT_THROW(const ForkRng scope{kMeta}, ValueError);
}

TEST_F(RngStates, ALeaseGoesOnFromWhereTheyStand) {
  seed(8);
  default_generator().reserve(3);
  {
    const RandomLease lease;
    EXPECT_EQ(default_generator().get_state(), (GeneratorState{8, 3, 0}));
    default_generator().reserve(4);
    const RandomLease inner;
    default_generator().reserve(5);
  }
  EXPECT_EQ(default_generator().get_state(), (GeneratorState{8, 12, 0})) << "nobody else drew";
  std::uint64_t others = 0;
  {
    const RandomLease lease;
    default_generator().reserve(4);
    std::thread([&] { others = default_generator().reserve(1).offset; }).join();
    EXPECT_EQ(default_generator().get_state(), (GeneratorState{8, 16, 0}));
  }
  EXPECT_GT(others, 1u << 30) << "another thread draws numbers that lie far ahead";
  EXPECT_EQ(default_generator().get_state().offset, others + 1);
}

TEST_F(RngStates, AReplayDrawsAgainAndDisturbsNobody) {
  seed(8);
  default_generator().reserve(3);
  const RandomState start = RandomState::now();
  default_generator().reserve(4);
  {
    const RandomReplay replay(start);
    EXPECT_EQ(default_generator().get_state(), (GeneratorState{8, 3, 0}));
    default_generator().reserve(9);
    GeneratorState others;
    std::thread([&] { others = default_generator().get_state(); }).join();
    EXPECT_EQ(others, (GeneratorState{8, 7, 0}));
  }
  EXPECT_EQ(default_generator().get_state(), (GeneratorState{8, 7, 0}));
}

TEST_F(RngStates, AScopeThatCannotBeginChangesNothing) {
  default_generator(kFirst);
  const Generator* const before = &default_generator();
  const RandomState start = RandomState::now();
  register_device_runtime(DeviceType::PrivateUse1, {});  // its devices are gone
  EXPECT_THROW(const RandomReplay replay(start), RuntimeError);
  EXPECT_EQ(&default_generator(), before);
  EXPECT_THROW(const RandomLease lease, RuntimeError);
  EXPECT_EQ(&default_generator(), before);
}

TEST_F(RngStates, AreMadeOnceByThreadsThatRace) {
  const Device device = unused_device();
  std::vector<Generator*> found(8);
  std::vector<std::thread> users;
  users.reserve(found.size());
  for (Generator*& own : found) {
    users.emplace_back([&own, device] {
      own = &default_generator(device);
      own->reserve(1);
      restore_rng_states(rng_states(std::vector{kFirst}));
    });
  }
  for (std::thread& user : users) user.join();
  for (Generator* generator : found) EXPECT_EQ(generator, found[0]);
  EXPECT_EQ(found[0]->get_state().offset, 8u);
}

TEST_F(RngStates, AGeneratorOfAnotherDeviceIsNamedBesideIt) {
  const Generator generator(1, kFirst);
  EXPECT_NO_THROW(check_generator("op", &generator, kFirst));
  EXPECT_NO_THROW(check_generator("op", &generator, kMeta));
  EXPECT_NO_THROW(check_generator("op", nullptr, kCPU));
  try {
    check_generator("op", &generator, kCPU);
    ADD_FAILURE() << "no error";
  } catch (const ValueError& error) {
    const std::string what = error.what();
    EXPECT_NE(what.find("[op]"), std::string::npos) << what;
    EXPECT_NE(what.find("privateuse1:0"), std::string::npos) << what;
    EXPECT_NE(what.find("cpu"), std::string::npos) << what;
  }
}

}  // namespace
}  // namespace lamella
