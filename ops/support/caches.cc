#include "ops/support/caches.h"

#include <algorithm>
#include <fstream>
#include <string>

namespace lamella {
namespace {

/// Assumed size of the last-level cache if the system reports none or a smaller one.
constexpr std::size_t kLeast = std::size_t{32} << 20;
/// The most that is believed: a virtual machine reports the cache of a whole processor, of which other machines use
/// most.
constexpr std::size_t kMost = std::size_t{64} << 20;

/// Returns the size of the last-level cache in bytes, or 0 if the system does not report it. sysconf() would report the
/// sum over all dies of a package, of which a core uses one.
std::size_t last_cache() {
  std::size_t largest = 0;
  for (int index = 0; index < 8; ++index) {
    std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/size");
    std::size_t size = 0;
    char unit = 0;
    if (!(file >> size)) break;
    file >> unit;
    if (unit == 'K') size <<= 10;
    if (unit == 'M') size <<= 20;
    largest = std::max(largest, size);
  }
  return largest;
}

}  // namespace

bool outgrow_caches(std::size_t bytes) {
  if (bytes < kLeast) return false;
  static const std::size_t cache = std::min(last_cache(), kMost);
  return bytes >= cache;
}

}  // namespace lamella
