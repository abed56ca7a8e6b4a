#include "engine/core/machine_memory.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace lamella {

std::int64_t machine_memory() noexcept {
  std::int64_t bytes = static_cast<std::int64_t>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGESIZE);
  // Versions 2 and 1 of control groups; a file without a limit holds "max", or a number beyond any machine's.
  for (const char* const path : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    std::int64_t limit = 0;
    if (std::ifstream(path) >> limit && limit > 0) bytes = std::min(bytes, limit);
  }
  return bytes;
}

}  // namespace lamella
