#include "engine/distributed/device_backend.h"

#include <array>
#include <mutex>

namespace lamella::distributed {
namespace {

struct Libraries {
  std::mutex mutex;
  /// By the type of device; those without a name are none. A library stays where it is once it is there.
  std::array<DeviceLibrary, kDeviceTypeCount> all;
};
Libraries& libraries() {
  static auto* const one = new Libraries;  // never destroyed: groups may outlive static destructors
  return *one;
}

}  // namespace

void register_device_library(DeviceType type, const DeviceLibrary& library) {
  const std::lock_guard lock(libraries().mutex);
  libraries().all[static_cast<std::size_t>(type)] = library;
}

const DeviceLibrary* find_device_library(DeviceType type) {
  const std::lock_guard lock(libraries().mutex);
  const DeviceLibrary& found = libraries().all[static_cast<std::size_t>(type)];
  return found.name.empty() ? nullptr : &found;
}

const DeviceLibrary* find_device_library(const std::string& name) {
  const std::lock_guard lock(libraries().mutex);
  for (const DeviceLibrary& library : libraries().all) {
    if (!name.empty() && library.name == name) return &library;
  }
  return nullptr;
}

}  // namespace lamella::distributed
