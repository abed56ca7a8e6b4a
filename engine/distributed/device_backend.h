#pragma once

#include <memory>
#include <string>

#include "engine/core/device.h"
#include "engine/distributed/backend.h"

namespace lamella::distributed {

/// Describes a process's place in a group, its device, and where the device's communication library lies.
struct DeviceBackendOptions {
  Device device;
  int rank = 0;
  int size = 1;
  /// File of the communication library where it is none of the system's; empty if not known.
  std::string library;
  /// True to throw where the library cannot connect these processes; false to return null.
  bool required = false;
  Milliseconds timeout{};
};

/// Communication library over the memory of one type of device. Its backend takes pointers to that memory; what it does
/// not (barriers, messages between two processes, groups of some of them) is done by the group's backend for the host.
struct DeviceLibrary {
  std::string name;
  /// Throws RuntimeError with the reason where the library, or the device's driver, is not here.
  void (*load)(const std::string& library) = nullptr;
  /// Connects the processes, which call it together, by means of the backend that they have for the host. Returns null,
  /// or throws, on all of them alike.
  std::unique_ptr<Backend> (*connect)(const DeviceBackendOptions& options, Backend& host) = nullptr;
};

/// Adds a type of device's library, or replaces it.
void register_device_library(DeviceType type, const DeviceLibrary& library);
/// Returns a type of device's library; null if it has none.
const DeviceLibrary* find_device_library(DeviceType type);
/// Returns the library of this name; null if there is none.
const DeviceLibrary* find_device_library(const std::string& name);

}  // namespace lamella::distributed
