#pragma once

// The header for an extension that implements a device: backend registration and the fallback to the host. See
// docs/devices.md.

#include "engine/core/tensor.h"
#include "engine/registry/library.h"
#include "engine/runtime/device_backend.h"
#include "engine/runtime/generator.h"
#include "ops/extension/host_fallback.h"
