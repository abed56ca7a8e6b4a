#include "engine/runtime/own_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

namespace lamella {
namespace {

constexpr std::size_t kLargest = std::size_t{16} << 20;

}  // namespace

File::~File() {
  if (descriptor_ >= 0) close(descriptor_);
}

bool write_all(int descriptor, const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t count = write(descriptor, text.data() + at, text.size() - at);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    at += static_cast<std::size_t>(count);
  }
  return true;
}

bool is_own(const struct stat& found) {
  return found.st_uid == geteuid() && (found.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

std::optional<std::string> read_own_file(const std::string& path) {
  const File file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat found{};
  if (!file.is_open() || fstat(file.get(), &found) != 0 || !S_ISREG(found.st_mode) || !is_own(found)) return {};
  if (static_cast<std::size_t>(found.st_size) > kLargest) return {};
  std::string text(static_cast<std::size_t>(found.st_size), '\0');
  std::size_t at = 0;
  while (at < text.size()) {
    const ssize_t count = read(file.get(), text.data() + at, text.size() - at);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return {};
    at += static_cast<std::size_t>(count);
  }
  return text;
}

}  // namespace lamella
