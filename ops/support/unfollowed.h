#pragma once

#include <algorithm>
#include <span>

#include "engine/autograd/recording/recorder.h"
#include "engine/core/modes.h"
#include "ops/support/hidden.h"

namespace lamella {

/// True if only the values of a call with these operands matter, so that it may be computed on the CPU in any order and
/// memory: no tape, interceptor or vmap axis follows it.
inline bool is_unfollowed(std::span<const Tensor* const> operands) {
  return !autograd::modes().interceptors && !autograd::should_record(operands) &&
         std::ranges::all_of(operands, [](const Tensor* x) { return x->device().is_cpu() && !is_batched(*x); });
}

}  // namespace lamella
