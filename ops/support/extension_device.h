#pragma once

#include <string>
#include <string_view>

#include "engine/core/device.h"
#include "engine/registry/dispatcher.h"
#include "engine/registry/entry.h"

namespace lamella {

inline bool is_extension(Device device) noexcept { return device.type == DeviceType::PrivateUse1; }

/// True if operators without a kernel on `device` may run on the host: an extension's device with a fallback.
bool falls_back_to_host(Device device) noexcept;
/// Returns the names of the built-in operators for which the extension has kernels, such as "add, matmul".
std::string extension_kernel_names();

namespace extension {

/// Returns the fallback registered for all operators, or null.
const registry::Record* fallback() noexcept;
/// Returns the handle of a built-in operator.
OperatorHandle handle_of(std::string_view op);
/// True if the extension registered a kernel for the operator.
bool has_own_kernel(const OperatorHandle& handle) noexcept;

}  // namespace extension
}  // namespace lamella
