#pragma once

// Header for extensions that bring a device: the backend to register, and the fallback to the host. See
// docs/devices.md.

#include "engine/core/tensor.h"
#include "engine/registry/library.h"
#include "engine/runtime/device_backend.h"
#include "engine/runtime/generator.h"
#include "ops/extension/host_fallback.h"
