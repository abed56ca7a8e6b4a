#pragma once

#include "engine/core/device.h"

namespace lamella::cuda {

/// Makes a device current for this thread's CUDA calls; restores the previous one at the end.
class DeviceGuard {
 public:
  /// Throws RuntimeError if there is no such device.
  explicit DeviceGuard(Device device);
  ~DeviceGuard();
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;

 private:
  int previous_ = 0;
  bool changed_ = false;
};

/// Returns the number of CUDA devices that this process can use, which does not change.
int usable_devices() noexcept;
/// Throws RuntimeError, with the driver's reason, unless `device` is a CUDA device of this machine.
void check_device(Device device);

}  // namespace lamella::cuda
