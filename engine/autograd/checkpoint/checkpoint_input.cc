#include "engine/autograd/checkpoint/checkpoint_input.h"

#include "engine/autograd/checkpoint/selection.h"
#include "engine/autograd/graph/place.h"
#include "engine/autograd/tangents/duals.h"
#include "engine/core/modes.h"

namespace lamella::autograd {

CheckpointInput::CheckpointInput(const Tensor& x, const Node& label) {
  if (!x.defined()) return;
  wants_gradient_ = wants_gradient(x);
  const Tensor kept = x.detach();
  value_ = SavedTensor(kept);
  if (modes().interceptors & Modes::kPacking) {
    note_packed(kept);
    value_.pack(label);
  }
  if (!duals_active()) return;
  const Tensor* const one[] = {&x};
  for (const std::uint64_t level : levels_of(one)) {
    const Tensor tangent = tangent_of(x, level);
    const HideLevels hide(level);
    tangents_.emplace_back(level, CheckpointInput(tangent, label));
  }
}

Tensor CheckpointInput::unpack(Node& label, std::size_t position, SourceLine saved_at) const {
  Tensor x = value_.unpack(label, position, saved_at);
  if (!x.defined()) return x;
  x = x.detach();
  if (wants_gradient_) x.set_requires_grad(true);
  for (const auto& [level, tangent] : tangents_) set_tangent(x, level, tangent.unpack(label, position, saved_at));
  return x;
}

}  // namespace lamella::autograd
