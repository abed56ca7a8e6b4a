#pragma once

#include "engine/core/device.h"

namespace lamella {

/// The functions that a device's runtime registers when the library loads; a build without that runtime registers none.
struct DeviceRuntime {
  /// Returns the number of devices that this process can use; never throws, 0 without a driver.
  int (*count)() noexcept = nullptr;
  /// Waits for all work on a device.
  void (*synchronize)(Device device) = nullptr;
};
void register_device_runtime(DeviceType type, DeviceRuntime runtime);

/// Returns the number of devices of a kind in this build and machine; 1 for the CPU and for meta. Never throws.
int device_count(DeviceType type) noexcept;
/// Waits for all work on a device; returns at once on the CPU. Throws RuntimeError if there is no such device.
void synchronize(Device device);

namespace cuda {

/// True if there is a CUDA device to compute on. False, without an error, in a build without CUDA and on a machine
/// without a driver.
bool is_available() noexcept;
/// Returns the number of CUDA devices; 0 if is_available() is false.
int device_count() noexcept;
/// Waits for all work on every CUDA device; does nothing if there is none.
void synchronize();

}  // namespace cuda
}  // namespace lamella
