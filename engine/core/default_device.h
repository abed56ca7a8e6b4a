#pragma once

#include "engine/core/device.h"

namespace lamella {

/// Returns the device of tensors that this thread makes where neither a device nor a tensor is given: the CPU, unless
/// set_default_device() said otherwise.
Device default_device() noexcept;
void set_default_device(Device device) noexcept;

}  // namespace lamella
