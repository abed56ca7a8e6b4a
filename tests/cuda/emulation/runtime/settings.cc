#include "tests/cuda/emulation/runtime/settings.h"

#include <cstdlib>
#include <string_view>

namespace emulation {
namespace {

bool is_set(const char* name) {
  const char* const value = std::getenv(name);
  return value && std::string_view(value) != "" && std::string_view(value) != "0";
}

Settings read() {
  Settings found;
  if (const char* value = std::getenv("LAMELLA_EMULATION_DEVICES")) found.devices = std::atoi(value);
  if (const char* value = std::getenv("LAMELLA_EMULATION_MEMORY")) {
    found.memory_bytes = static_cast<std::size_t>(std::atoll(value));
  }
  const char* const order = std::getenv("LAMELLA_EMULATION_ORDER");
  if (order && std::string_view(order) == "reversed") found.order = Order::Reversed;
  found.deferred = is_set("LAMELLA_EMULATION_DEFERRED");
  found.races = is_set("LAMELLA_EMULATION_RACES");
  return found;
}

}  // namespace

Settings& settings() {
  static Settings current = read();
  return current;
}

}  // namespace emulation
