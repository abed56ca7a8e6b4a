#include "ops/support/extension_device.h"

namespace lamella {

using registry::Record;

bool falls_back_to_host(Device device) noexcept { return is_extension(device) && extension::fallback(); }

std::string extension_kernel_names() {
  std::string names;
  for (const OperatorHandle& handle : Dispatcher::singleton().operators("lamella")) {
    if (extension::has_own_kernel(handle))
      names += (names.empty() ? "" : ", ") + handle.name().substr(sizeof("lamella::") - 1);
  }
  return names;
}

namespace extension {

const Record* fallback() noexcept {
  const Record* const record = registry::fallback_for(backend_key(DeviceType::PrivateUse1));
  return record && !record->function.is_fallthrough() ? record : nullptr;
}

OperatorHandle handle_of(std::string_view op) {
  return Dispatcher::singleton().find_schema_or_throw("lamella::" + std::string(op));
}

bool has_own_kernel(const OperatorHandle& handle) noexcept {
  const Record* const record =
      handle.entry()->device_kernels[static_cast<std::size_t>(DeviceType::PrivateUse1)].load(std::memory_order_acquire);
  return record && !record->function.is_fallthrough();
}

}  // namespace extension
}  // namespace lamella
