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

DeviceProperties device_properties(Device device) {
  const auto properties = runtime_of(device.type).properties;
  if (!properties) fail<RuntimeError>("[properties] this build of Lamella knows nothing of ", device);
  return properties(device);
}

DeviceMemory device_memory(Device device) {
  const auto memory = runtime_of(device.type).memory;
  if (!memory) fail<RuntimeError>("[mem_get_info] this build of Lamella knows nothing of ", device);
  return memory(device);
}

int current_cuda_device() noexcept { return detail::current_cuda; }

void set_current_cuda_device(int index) {
  if (index < 0 || index >= device_count(DeviceType::CUDA)) {
    fail<RuntimeError>("[set_device] there is no cuda:", index,
                       ": CUDA devices here: ", device_count(DeviceType::CUDA));
  }
  detail::current_cuda = index;
}

namespace cuda {

int device_count() noexcept { return lamella::device_count(DeviceType::CUDA); }
bool is_available() noexcept { return device_count() > 0; }
void synchronize() {
  for (int i = 0; i < device_count(); ++i) lamella::synchronize({DeviceType::CUDA, i});
}

}  // namespace cuda
}  // namespace lamella
