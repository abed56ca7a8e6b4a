#pragma once

#include "engine/core/device.h"

namespace lamella::cuda {

/// Makes a device the one that this thread's CUDA calls go to; the one before is restored at the end.
class DeviceGuard {
 public:
  /// RuntimeError where there is no such device.
  explicit DeviceGuard(Device device);
  ~DeviceGuard();
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;

 private:
  int previous_ = 0;
  bool changed_ = false;
};

/// Raises RuntimeError, with the reason that the driver gives, unless `device` is a CUDA device of this machine.
void check_device(Device device);

}  // namespace lamella::cuda
