#pragma once

#include <cuda_runtime.h>

#include "engine/runtime/cuda/late_error.h"

namespace lamella::cuda {

/// Leaves an error for the host to raise, unless one is waiting there already. To be called by any thread of a kernel.
__device__ inline void report_late(const LateReport& report, std::int64_t a = 0, std::int64_t b = 0,
                                   std::int64_t c = 0) {
  LateErrorSlot& slot = *report.slot;
  if (atomicCAS(&slot.state, static_cast<unsigned>(LateErrorSlot::kFree),
                static_cast<unsigned>(LateErrorSlot::kTaken)) != LateErrorSlot::kFree) {
    return;
  }
  slot.raise = report.raise;
  slot.op = report.op;
  slot.numbers[0] = a;
  slot.numbers[1] = b;
  slot.numbers[2] = c;
  __threadfence_system();
  atomicExch(&slot.state, static_cast<unsigned>(LateErrorSlot::kComplete));
}

}  // namespace lamella::cuda
