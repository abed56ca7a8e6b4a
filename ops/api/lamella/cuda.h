#pragma once

// Header for kernels on NVIDIA GPUs: the current stream of a device, and a check of CUDA's errors. It needs CUDA's own
// headers. See docs/cuda.md.

#include "engine/runtime/cuda/check.h"
#include "engine/runtime/cuda/device_guard.h"
#include "engine/runtime/cuda/stream.h"
