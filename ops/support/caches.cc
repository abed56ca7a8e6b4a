#include "ops/support/caches.h"

#include <algorithm>
#include <fstream>
#include <string>

namespace lamella {
namespace {

/// Where the system does not tell the cache's size, or tells a smaller one.
constexpr std::size_t kLeast = std::size_t{32} << 20;

/// In bytes; 0 where the system does not tell. sysconf() adds up all that a package of several dies has, of which a
/// core uses one only.
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
  static const std::size_t cache = last_cache();
  return bytes >= cache;
}

}  // namespace lamella
