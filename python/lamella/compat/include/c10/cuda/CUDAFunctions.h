#pragma once

#include "c10/core/Device.h"
#include "c10/cuda/CUDAException.h"

namespace c10::cuda {

/// Returns the number of CUDA devices; 0 without a driver.
inline DeviceIndex device_count() noexcept {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? static_cast<DeviceIndex>(count) : DeviceIndex{0};
}
inline DeviceIndex current_device() {
  int current = 0;
  C10_CUDA_CHECK(cudaGetDevice(&current));
  return static_cast<DeviceIndex>(current);
}
inline void set_device(DeviceIndex index) { C10_CUDA_CHECK(cudaSetDevice(index)); }

}  // namespace c10::cuda
