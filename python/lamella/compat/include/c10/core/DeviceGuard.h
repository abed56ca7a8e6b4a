#pragma once

#include <optional>

#include "ATen/core/Tensor.h"
#include "engine/runtime/device_backend.h"

namespace c10 {

/// Makes a device current for a scope. It has no effect on the CPU; for a CUDA device other than the first use
/// c10::cuda::CUDAGuard, which needs CUDA's headers.
class DeviceGuard {
 public:
  explicit DeviceGuard(Device device) : device_(device), brought_(device.native()) {
    if (device.is_cuda() && device.index() > 0) {
      lamella::fail<lamella::NotImplementedError>("[DeviceGuard] ", device,
                                                  ": c10::cuda::CUDAGuard of <c10/cuda/CUDAGuard.h> makes it current");
    }
  }
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;
  Device current_device() const { return device_; }

 private:
  Device device_;
  lamella::BackendDeviceGuard brought_;
};

/// Makes a device current for a scope if there is a device.
class OptionalDeviceGuard {
 public:
  OptionalDeviceGuard() = default;
  explicit OptionalDeviceGuard(std::optional<Device> device) {
    if (device) guard_.emplace(*device);
  }
  void reset_device(Device device) { guard_.emplace(device); }
  std::optional<Device> current_device() const {
    return guard_ ? std::optional(guard_->current_device()) : std::nullopt;
  }

 private:
  std::optional<DeviceGuard> guard_;
};

}  // namespace c10

namespace at {
/// Returns the device of a tensor; nothing for an undefined one.
inline std::optional<Device> device_of(const Tensor& x) {
  return x.defined() ? std::optional(x.device()) : std::nullopt;
}
}  // namespace at
