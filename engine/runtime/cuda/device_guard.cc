#include "engine/runtime/cuda/device_guard.h"

#include "engine/core/error.h"
#include "engine/runtime/cuda/check.h"
#include "engine/runtime/cuda/late_error.h"
#include "engine/runtime/device_query.h"

namespace lamella::cuda {
namespace {

struct DeviceProbe {
  int count = 0;
  cudaError_t status = cudaSuccess;
};

/// Queries the driver once: the answer does not change in a process.
const DeviceProbe& devices() noexcept {
  static const DeviceProbe probe = [] {
    DeviceProbe found;
    found.status = cudaGetDeviceCount(&found.count);
    if (found.status != cudaSuccess) {
      found.count = 0;
      cudaGetLastError();  // the error is stored here and must not appear at the next launch
    }
    return found;
  }();
  return probe;
}

DeviceProperties properties_of(Device device) {
  const DeviceGuard guard(device);
  cudaDeviceProp found{};
  check(cudaGetDeviceProperties(&found, device.index), "properties");
  return {.name = found.name,
          .memory = found.totalGlobalMem,
          .major = found.major,
          .minor = found.minor,
          .processors = found.multiProcessorCount};
}

DeviceMemory memory_of(Device device) {
  const DeviceGuard guard(device);
  DeviceMemory found;
  check(cudaMemGetInfo(&found.free, &found.total), "mem_get_info");
  return found;
}

[[maybe_unused]] const bool kRegistered = [] {
  register_device_runtime(DeviceType::CUDA, {.count = []() noexcept { return devices().count; },
                                             .synchronize =
                                                 [](Device device) {
                                                   const DeviceGuard guard(device);
                                                   check(cudaDeviceSynchronize(), "synchronize");
                                                   raise_late_error(device);
                                                 },
                                             .properties = properties_of,
                                             .memory = memory_of});
  return true;
}();

}  // namespace

void check_device(Device device) {
  const DeviceProbe& found = devices();
  if (device.is_cuda() && device.index >= 0 && device.index < found.count) return;
  if (found.status != cudaSuccess) {
    fail<RuntimeError>("[device] ", device, " cannot be used: ", cudaGetErrorString(found.status), " (",
                       cudaGetErrorName(found.status), ")");
  }
  fail<RuntimeError>("[device] there is no ", device, ": CUDA devices here: ", found.count);
}

DeviceGuard::DeviceGuard(Device device) {
  check_device(device);
  check(cudaGetDevice(&previous_), "device");
  if (previous_ != device.index) {
    check(cudaSetDevice(device.index), "device");
    changed_ = true;
  }
}

DeviceGuard::~DeviceGuard() {
  if (changed_) static_cast<void>(cudaSetDevice(previous_));
}

}  // namespace lamella::cuda
