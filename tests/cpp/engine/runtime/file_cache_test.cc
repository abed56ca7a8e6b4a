#include "engine/runtime/file_cache.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace lamella {
namespace {

using Found = FileCache::Found;

class FileCaches : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string path = std::filesystem::temp_directory_path() / "lamella-test-XXXXXX";
    ASSERT_NE(mkdtemp(path.data()), nullptr);
    folder_ = path;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path folder_;
};

TEST_F(FileCaches, GiveBackWhatWasAdded) {
  const FileCache cache(folder_, ".bin");
  ASSERT_EQ(cache.prepare(), "");
  const std::string contents("a\0b", 3), name = hash_of("key");
  std::string kept;
  EXPECT_EQ(cache.find(name, "key", &kept), Found::Nothing);
  EXPECT_TRUE(cache.add(name, "key", contents));
  EXPECT_EQ(cache.find(name, "key", &kept), Found::Whole);
  EXPECT_EQ(kept, contents);
  EXPECT_TRUE(std::filesystem::exists(folder_ / "kernels" / (name + ".bin")));
  EXPECT_EQ(FileCache(folder_, ".other").find(name, "key"), Found::Nothing);
  cache.remove(name);
  EXPECT_EQ(cache.find(name, "key"), Found::Nothing);
}

TEST_F(FileCaches, SeeDamageAndOtherKeys) {
  const FileCache cache(folder_, ".bin");
  ASSERT_EQ(cache.prepare(), "");
  ASSERT_TRUE(cache.add("name", "key", "contents"));
  EXPECT_EQ(cache.find("name", "another"), Found::Damaged);
  std::filesystem::resize_file(cache.path("name"), 20);
  EXPECT_EQ(cache.find("name", "key"), Found::Damaged);
  ASSERT_TRUE(cache.add("name", "key", "contents"));
  std::fstream(cache.path("name"), std::ios::in | std::ios::out) << "X";
  EXPECT_EQ(cache.find("name", "key"), Found::Damaged);
  ASSERT_TRUE(cache.add("name", "key", "contents"));
  chmod(cache.path("name").c_str(), 0622);
  EXPECT_EQ(cache.find("name", "key"), Found::Damaged);
}

TEST_F(FileCaches, RefuseFoldersThatOthersWriteTo) {
  const FileCache cache(folder_, ".bin");
  ASSERT_EQ(cache.prepare(), "");
  chmod(cache.folder().c_str(), 0777);
  EXPECT_NE(cache.prepare(), "");
  EXPECT_NE(FileCache("/proc/nothing", ".bin").prepare(), "");
  EXPECT_FALSE(FileCache("/proc/nothing", ".bin").add("name", "key", "contents"));
}

}  // namespace
}  // namespace lamella
