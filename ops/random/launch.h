#pragma once

#include "engine/core/tensor.h"
#include "ops/random/fill.h"

namespace lamella {

/// Fills `count` contiguous elements on a device other than the CPU.
using FillLauncher = void (*)(Device device, DType dtype, const random::Fill& fill, void* out, std::int64_t count);
void register_fill_launcher(DeviceType type, FillLauncher launcher);

}  // namespace lamella
