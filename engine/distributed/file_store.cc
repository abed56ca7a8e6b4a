#include "engine/distributed/file_store.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <system_error>
#include <thread>
#include <utility>

#include "engine/core/error.h"

namespace lamella::distributed {

FileStore::FileStore(std::filesystem::path folder) : folder_(std::move(folder)) {
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  if (error) fail<RuntimeError>("cannot make the folder ", folder_.string(), ": ", error.message());
}

void FileStore::set(const std::string& key, const std::string& value) {
  // Readers see a whole file or none.
  const std::filesystem::path draft = folder_ / ("." + key + "-" + std::to_string(getpid()));
  std::ofstream file(draft, std::ios::binary);
  file << value;
  file.close();
  std::error_code error;
  if (file) std::filesystem::rename(draft, folder_ / key, error);
  if (!file || error) fail<RuntimeError>("cannot write ", (folder_ / key).string());
}

std::string FileStore::get(const std::string& key, Milliseconds timeout) {
  constexpr Milliseconds kShort{2};
  constexpr Milliseconds kLong{20};
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  for (Milliseconds step = kShort;; step = std::min(step * 2, kLong)) {
    if (std::ifstream file(folder_ / key, std::ios::binary); file) {
      return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    }
    if (std::chrono::steady_clock::now() > deadline) fail<RuntimeError>("nobody has set ", key);
    std::this_thread::sleep_for(step);
  }
}

}  // namespace lamella::distributed
