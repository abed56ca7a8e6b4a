#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "engine/core/tensor.h"
#include "engine/registry/value.h"
#include "ops/support/extension_device.h"

namespace lamella::extension {

/// Runs the kernel of `op` on the device, or the fallback, on these arguments; further arguments of the schema get
/// their defaults. Throws RuntimeError that names the kernel if the result does not have the given shape and dtype.
/// Returns nothing if the operator has neither a kernel nor a fallback, or only the fallback to the host, for which the
/// caller has a better way.
std::optional<Tensor> call_kernel(std::string_view op, std::span<const registry::Arg> args, DimsView shape, DType dtype,
                                  Device device);
/// Does the same for a handle that the caller looked up.
std::optional<Tensor> call_kernel(const OperatorHandle& handle, std::span<const registry::Arg> args, DimsView shape,
                                  DType dtype, Device device);

}  // namespace lamella::extension
