#include "engine/autograd/vmap/vmap_rule.h"

#include <algorithm>
#include <utility>

#include "engine/autograd/graph/place.h"
#include "engine/autograd/graph/primitives.h"
#include "engine/autograd/tangents/duals.h"
#include "engine/core/error.h"
#include "engine/core/modes.h"
#include "engine/core/thread_state.h"

namespace lamella::autograd {

std::uint64_t enter_vmap(std::int64_t size, Randomness randomness) {
  const std::uint64_t level = next_scope_level();
  ThreadState& state = thread_state();
  state.batch_scopes.push_back({level, size, randomness});
  state.batch_levels.push_back(level);
  return level;
}

void leave_vmap(std::uint64_t level) noexcept {
  // Erased by value, as the scopes of a host language may end in another order than they began.
  ThreadState& state = thread_state();
  std::erase(state.batch_levels, level);
  std::erase_if(state.batch_scopes, [&](const BatchScope& scope) { return scope.level == level; });
}

std::optional<VmapRule> VmapRule::of(std::span<const Tensor* const> inputs) {
  const HiddenAxis* innermost = nullptr;
  for (const Tensor* x : inputs) {
    if (!(*x)->hidden) continue;
    for (const HiddenAxis& axis : *(*x)->hidden) {
      if (!innermost || axis.level > innermost->level) innermost = &axis;
    }
  }
  if (!innermost) return std::nullopt;
  VmapRule rule;
  rule.level_ = innermost->level;
  rule.info_.batch_size = innermost->size;
  for (const BatchScope& scope : thread_state().batch_scopes) {
    if (scope.level == rule.level_) rule.info_.randomness = scope.randomness;
  }
  for (const Tensor* x : inputs) rule.info_.mapped.push_back(is_mapped(*x, rule.level_));
  return rule;
}

bool VmapRule::is_mapped(const Tensor& x, std::uint64_t level) {
  if (find_level(x->hidden.get(), level)) return true;
  if (!is_differentiable(x.dtype())) return false;
  return (is_grad_enabled() && wants_gradient(x)) || (duals_active() && is_dual(x));
}

Tensor VmapRule::shown(const Tensor& x) const {
  return is_mapped(x, level_) ? primitives().show_axis(x, level_, info_.batch_size) : x;
}

Tensor VmapRule::hidden(const Tensor& y, std::string_view layer) const {
  if (y.ndim() == 0 || y.shape()[0] != info_.batch_size) {
    fail<ValueError>("[", layer, "] vmap must return the mapped axis, of size ", info_.batch_size,
                     ", as axis 0 of every output, got shape ", y.shape());
  }
  return primitives().hide_axis(y, level_);
}

VmapRule::Left::Left(const VmapRule& rule)
    : levels_(thread_state().batch_levels), scopes_(thread_state().batch_scopes) {
  leave_vmap(rule.level_);
}

VmapRule::Left::~Left() {
  thread_state().batch_levels = std::move(levels_);
  thread_state().batch_scopes = std::move(scopes_);
}

}  // namespace lamella::autograd
