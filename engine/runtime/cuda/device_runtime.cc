// Registers what the engine asks of CUDA's devices.

#include "engine/runtime/cuda/check.h"
#include "engine/runtime/cuda/device_guard.h"
#include "engine/runtime/cuda/late_error.h"
#include "engine/runtime/device_query.h"

namespace lamella::cuda {
namespace {

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
  register_device_runtime(DeviceType::CUDA, {.count = usable_devices,
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
}  // namespace lamella::cuda
