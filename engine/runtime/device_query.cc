#include "engine/runtime/device_query.h"

#include <array>

#include "engine/core/error.h"

namespace lamella {
namespace {

constinit std::array<DeviceRuntime, kDeviceTypeCount> runtimes{};

const DeviceRuntime& runtime_of(DeviceType type) { return runtimes[static_cast<std::size_t>(type)]; }

}  // namespace

void register_device_runtime(DeviceType type, DeviceRuntime runtime) {
  runtimes[static_cast<std::size_t>(type)] = runtime;
}

int device_count(DeviceType type) noexcept {
  if (type == DeviceType::CPU || type == DeviceType::Meta) return 1;
  const auto count = runtime_of(type).count;
  return count ? count() : 0;
}

void synchronize(Device device) {
  if (device.index < 0 || device.index >= device_count(device.type)) {
    fail<RuntimeError>("[synchronize] there is no device ", device);
  }
  if (const auto wait = runtime_of(device.type).synchronize) wait(device);
}

namespace cuda {

int device_count() noexcept { return lamella::device_count(DeviceType::CUDA); }
bool is_available() noexcept { return device_count() > 0; }
void synchronize() {
  for (int i = 0; i < device_count(); ++i) lamella::synchronize({DeviceType::CUDA, i});
}

}  // namespace cuda
}  // namespace lamella
