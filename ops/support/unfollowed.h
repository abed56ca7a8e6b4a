#pragma once

#include <algorithm>
#include <span>

#include "engine/autograd/recording/recorder.h"
#include "engine/core/modes.h"
#include "ops/support/hidden.h"

namespace lamella {

/// Whether nothing but the numbers of a call with these operands matters, so that it may be computed on the CPU in any
/// way and memory: no tape, no interceptor and no axis of vmap's is there to follow it.
inline bool is_unfollowed(std::span<const Tensor* const> operands) {
  return !autograd::modes().interceptors && !autograd::should_record(operands) &&
         std::ranges::all_of(operands, [](const Tensor* x) { return x->device().is_cpu() && !is_batched(*x); });
}

}  // namespace lamella
