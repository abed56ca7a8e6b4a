#pragma once

#include <cstddef>
#include <string>

#include "engine/core/device.h"

namespace lamella {

/// Name, memory and compute capability of a device.
struct DeviceProperties {
  std::string name;
  std::size_t memory = 0;    ///< bytes
  int major = 0, minor = 0;  ///< of the compute capability
  int processors = 0;        ///< number of multiprocessors
};

/// Memory of a device, in bytes, with what other processes hold.
struct DeviceMemory {
  std::size_t free = 0;
  std::size_t total = 0;
};

/// The functions that a device's runtime registers when the library loads; a build without that runtime registers none.
struct DeviceRuntime {
  /// Returns the number of devices that this process can use; never throws, 0 without a driver.
  int (*count)() noexcept = nullptr;
  /// Waits for all work on a device.
  void (*synchronize)(Device device) = nullptr;
  DeviceProperties (*properties)(Device device) = nullptr;
  DeviceMemory (*memory)(Device device) = nullptr;
};
void register_device_runtime(DeviceType type, DeviceRuntime runtime);

/// Returns the number of devices of a kind in this build and machine; 1 for the CPU and for meta. Never throws.
int device_count(DeviceType type) noexcept;
/// Returns what a device is. Throws RuntimeError if there is no such device, or its runtime does not tell.
DeviceProperties device_properties(Device device);
/// Returns a device's memory. Throws as device_properties().
DeviceMemory device_memory(Device device);

/// Returns this thread's current CUDA device, for which "cuda" stands; initially 0.
int current_cuda_device() noexcept;
/// Sets it. Throws RuntimeError if there is no such device.
void set_current_cuda_device(int index);

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
