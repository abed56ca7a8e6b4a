#pragma once

#include "c10/core/DeviceGuard.h"
#include "c10/cuda/CUDAStream.h"

namespace c10::cuda {

/// Makes a CUDA device current for a scope.
class CUDAGuard {
 public:
  explicit CUDAGuard(DeviceIndex index) {
    C10_CUDA_CHECK(cudaGetDevice(&before_));
    C10_CUDA_CHECK(cudaSetDevice(index));
  }
  explicit CUDAGuard(Device device) : CUDAGuard(device.has_index() ? device.index() : DeviceIndex{0}) {}
  ~CUDAGuard() { cudaSetDevice(before_); }
  CUDAGuard(const CUDAGuard&) = delete;
  CUDAGuard& operator=(const CUDAGuard&) = delete;

 private:
  int before_ = 0;
};

/// Makes a device current for a scope if there is a device and it is a CUDA device.
class OptionalCUDAGuard {
 public:
  explicit OptionalCUDAGuard(std::optional<Device> device = std::nullopt) {
    if (device && device->is_cuda()) guard_.emplace(*device);
  }

 private:
  std::optional<CUDAGuard> guard_;
};

}  // namespace c10::cuda

namespace at::cuda {
using c10::cuda::CUDAGuard;
using c10::cuda::OptionalCUDAGuard;
}  // namespace at::cuda
