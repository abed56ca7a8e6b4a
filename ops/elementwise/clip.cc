#include "ops/elementwise/clip.h"

namespace lamella {

Tensor Clip::call(const Tensor& x, const std::optional<Operand>& min, const std::optional<Operand>& max) {
  if (min && max) return ClipBetween::call(x, *min, *max);
  if (!min && !max) return x;
  // One bound: where, not maximum, because at the bound the whole gradient passes.
  if (min) return where((x >= *min) | (x != x), x, *min);
  return where((x <= *max) | (x != x), x, *max);
}

}  // namespace lamella
