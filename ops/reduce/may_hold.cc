#include "ops/reduce/may_hold.h"

#include <algorithm>

#include "ops/movement/cast.h"
#include "ops/support/hidden.h"

namespace lamella {

bool may_hold(const Tensor& mask) {
  if (!mask.device().is_cpu() || is_batched(mask)) return true;
  const Tensor flags = contiguous(mask);
  const bool* const flag = flags.data<bool>();
  return std::any_of(flag, flag + flags.numel(), [](bool set) { return set; });
}

}  // namespace lamella
