#pragma once

#include "engine/core/device.h"

namespace lamella {

/// What a device's runtime tells of itself when the library loads; a build without that runtime registers nothing.
struct DeviceRuntime {
  /// Devices that this process can use; never throws, 0 where there is no driver.
  int (*count)() noexcept = nullptr;
  /// Waits for all work on a device.
  void (*synchronize)(Device device) = nullptr;
};
void register_device_runtime(DeviceType type, DeviceRuntime runtime);

/// Devices of a kind that this build and machine have; 1 for the CPU and for meta. Never throws.
int device_count(DeviceType type) noexcept;
/// Waits for all work on a device; at once on the CPU. RuntimeError where there is no such device.
void synchronize(Device device);

namespace cuda {

/// Whether there is a CUDA device to compute on. False, and no error, in a build without CUDA and on a machine without
/// a driver.
bool is_available() noexcept;
/// The number of CUDA devices; 0 where is_available() is false.
int device_count() noexcept;
/// Waits for all work on every CUDA device; nothing to do where there is none.
void synchronize();

}  // namespace cuda
}  // namespace lamella
