#pragma once

// What an extension includes that brings a device: the backend that it registers, and the fallback to the host. See
// docs/devices.md.

#include "engine/core/tensor.h"
#include "engine/registry/library.h"
#include "engine/runtime/device_backend.h"
#include "engine/runtime/generator.h"
#include "ops/extension/host_fallback.h"
