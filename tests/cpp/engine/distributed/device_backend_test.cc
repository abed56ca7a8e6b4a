#include "engine/distributed/device_backend.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "engine/core/error.h"
#include "engine/distributed/process_group.h"

namespace lamella::distributed {
namespace {

constexpr Device kFirst{DeviceType::PrivateUse1, 0};
constexpr Device kSecond{DeviceType::PrivateUse1, 1};

int connections = 0;

/// Connects processes where the library is required, and cannot otherwise.
std::unique_ptr<Backend> connect(const DeviceBackendOptions& options, Backend&) {
  ++connections;
  return options.required ? solo_backend() : nullptr;
}

class DeviceLibraries : public ::testing::Test {
 protected:
  void SetUp() override {
    connections = 0;
    register_device_library(DeviceType::PrivateUse1,
                            {.name = "fake", .load = [](const std::string&) {}, .connect = connect});
  }
  void TearDown() override { register_device_library(DeviceType::PrivateUse1, {}); }

  static GroupOptions two(DeviceUse use) {
    GroupOptions options{
        .name = "two", .backend_name = "host", .ranks = {0, 1}, .rank = 0, .timeout = Milliseconds(1000)};
    options.backend = solo_backend();
    options.device_use = use;
    return options;
  }
};

TEST_F(DeviceLibraries, AreFoundByTypeAndByName) {
  EXPECT_EQ(find_device_library(DeviceType::PrivateUse1)->name, "fake");
  EXPECT_EQ(find_device_library("fake"), find_device_library(DeviceType::PrivateUse1));
  EXPECT_EQ(find_device_library(""), nullptr);
  EXPECT_EQ(find_device_library(DeviceType::CPU), nullptr);
}

TEST_F(DeviceLibraries, ConnectTheProcessesOnce) {
  ProcessGroup group(two(DeviceUse::Required));
  EXPECT_EQ(group.device_backend_name(), "");
  EXPECT_TRUE(group.reaches(kFirst));
  EXPECT_TRUE(group.reaches(kFirst));
  EXPECT_EQ(connections, 1);
  EXPECT_EQ(group.device_backend_name(), "fake");
  EXPECT_TRUE(group.joins(kFirst, DType::Float32, ReduceOp::Sum));
  EXPECT_THROW(group.reaches(kSecond), ValueError);
  int calls = 0;
  const auto nothing = [] { return std::string(); };
  group.start("sum", nothing, [&](Backend&, Milliseconds) { ++calls; }, kFirst)->wait();
  EXPECT_EQ(calls, 1);
}

TEST_F(DeviceLibraries, AreLeftAloneWhereTheyCannotConnectOrAreNotWanted) {
  ProcessGroup group(two(DeviceUse::IfThere));
  EXPECT_FALSE(group.reaches(kFirst));
  EXPECT_FALSE(group.reaches(kFirst));
  EXPECT_FALSE(group.reaches(kSecond));
  EXPECT_EQ(connections, 1);
  ProcessGroup by_host(two(DeviceUse::None));
  EXPECT_FALSE(by_host.reaches(kFirst));
  EXPECT_TRUE(by_host.reaches(kCPU));
  EXPECT_EQ(connections, 1);
}

}  // namespace
}  // namespace lamella::distributed
