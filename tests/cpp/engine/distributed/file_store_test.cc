#include "engine/distributed/file_store.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>

#include "engine/core/error.h"

namespace lamella::distributed {
namespace {

TEST(FileStore, WaitsForValuesAndTakesNewOnes) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("lamella-file-store-" + std::to_string(getpid()));
  {
    FileStore store(folder / "below");
    FileStore other(folder / "below");
    std::thread later([&] {
      std::this_thread::sleep_for(Milliseconds(20));
      other.set("key", std::string("\0one", 4));
    });
    EXPECT_EQ(store.get("key", Milliseconds(10000)), std::string("\0one", 4));
    later.join();
    store.set("key", "two");
    EXPECT_EQ(other.get("key", Milliseconds(1)), "two");
    store.set("key", "");
    EXPECT_EQ(other.get("key", Milliseconds(1)), "");
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_THROW(store.get("nothing", Milliseconds(10)), RuntimeError);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
    std::filesystem::remove_all(folder);
    EXPECT_THROW(store.set("key", "three"), RuntimeError);
  }
  EXPECT_THROW(FileStore("/proc/lamella"), RuntimeError);
}

}  // namespace
}  // namespace lamella::distributed
