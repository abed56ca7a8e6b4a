#include "ops/support/device_kernels.h"

#include <array>

namespace lamella {
namespace {

constexpr DeviceKernels kNone;
std::array<const DeviceKernels*, kDeviceTypeCount> tables{};

}  // namespace

void register_device_kernels(DeviceType type, const DeviceKernels* kernels) {
  tables[static_cast<std::size_t>(type)] = kernels;
}

const DeviceKernels& device_kernels(Device device) {
  const DeviceKernels* table = tables[static_cast<std::size_t>(device.type)];
  return table ? *table : kNone;
}

}  // namespace lamella
