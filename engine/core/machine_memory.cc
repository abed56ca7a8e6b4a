#include "engine/core/machine_memory.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace lamella {
namespace {

/// Returns the number that a file begins with; 0 for "max", and where there is no such file. Needs no memory, of which
/// there may be none when the first tensor is made.
std::int64_t number_in(const char* path) noexcept {
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  std::array<char, 32> text{};
  const auto size = ::read(file, text.data(), text.size());
  ::close(file);
  std::int64_t number = 0;
  if (size > 0) std::from_chars(text.data(), text.data() + size, number);
  return number;
}

}  // namespace

std::int64_t machine_memory() noexcept {
  std::int64_t bytes = static_cast<std::int64_t>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGESIZE);
  // Versions 2 and 1 of control groups; without a limit, the latter has a number beyond any machine's.
  for (const char* const path : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    if (const std::int64_t limit = number_in(path); limit > 0) bytes = std::min(bytes, limit);
  }
  return bytes;
}

}  // namespace lamella
