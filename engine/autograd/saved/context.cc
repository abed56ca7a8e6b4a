#include "engine/autograd/saved/context.h"

#include <algorithm>

#include "engine/autograd/graph/running_pass.h"
#include "engine/autograd/tangents/duals.h"
#include "engine/core/error.h"

namespace lamella {

void Context::begin_save() {
  const auto who = [this] { return node_ ? node_->name() : std::string("save_for_backward"); };
  if (!in_forward_) fail<RuntimeError>("[", who(), "] save_for_backward can only be called in forward");
  if (save_called_) {
    fail<RuntimeError>("[", who(), "] save_for_backward can be called once only: pass all tensors in one call");
  }
  save_called_ = true;
}

void Context::check_saved(std::size_t expected) const {
  if (freed_) {
    fail<RuntimeError>(
        "[", node_->name(),
        "] the saved tensors were freed by an earlier backward pass through this graph; pass retain_graph=True to "
        "it if the graph is needed again");
  }
  if (saved_.size() != expected) {
    fail<RuntimeError>("[", node_ ? node_->name() : "saved_tensors", "] ", saved_.size(), " tensors were saved, not ",
                       expected);
  }
}

void Context::pack_saved() {
  packed_ = !saved_.empty();
  for (autograd::SavedTensor& saved : saved_) saved.pack(*node_);
}

TensorList Context::unpack_saved(std::optional<std::size_t> expected) const {
  SmallVector<autograd::SavedTensor, 2> saved;
  {
    const std::lock_guard lock(lock_);
    check_saved(expected.value_or(saved_.size()));
    saved = saved_;
  }
  TensorList tensors;
  tensors.reserve(saved.size());
  for (std::size_t i = 0; i < saved.size(); ++i) tensors.push_back(saved[i].unpack(*node_, i, created_at));
  return tensors;
}

TensorList Context::saved_tensors() const {
  if (unpacking_is_work()) [[unlikely]]
    return unpack_saved(std::nullopt);
  const std::lock_guard lock(lock_);
  check_saved(saved_.size());
  TensorList tensors;
  tensors.reserve(saved_.size());
  for (std::size_t i = 0; i < saved_.size(); ++i) tensors.push_back(saved_[i].unpack(*node_, i, created_at));
  return tensors;
}

TensorList Context::kept_tensors() const {
  const std::lock_guard lock(lock_);
  TensorList tensors;
  for (const autograd::SavedTensor& saved : saved_) tensors.push_back(saved.tensor());
  return tensors;
}

bool Context::needs_input_grad(std::size_t i) const {
  if (i >= arguments.size()) {
    fail<IndexError>("[needs_input_grad] argument ", i, " of a layer that was called with ", arguments.size());
  }
  if (!node_) return false;
  const ArgumentInfo& argument = arguments[i];
  for (std::uint32_t k = argument.first; k < argument.first + argument.count; ++k) {
    // Looks at the edge alone in forward, which may run inside another graph's pass and knows nothing of what that pass
    // needs.
    const Edge& edge = node_->edges()[k];
    if (in_forward_ ? static_cast<bool>(edge) : autograd::is_needed(edge)) return true;
  }
  return false;
}

bool Context::was_called_dual() const noexcept {
  return extras_ && std::ranges::any_of(extras_->dual_levels, autograd::is_visible_level);
}

void Context::drop_marks() noexcept {
  if (!extras_) return;
  extras_->dirty.clear();
  extras_->not_inplace.clear();
  extras_->non_differentiable.clear();
}

void Context::release_saved() noexcept {
  const SmallVector<autograd::SavedTensor, 2> dropped = [this] {  // freed after the lock
    const std::lock_guard lock(lock_);
    if (save_called_) freed_ = true;
    return std::move(saved_);
  }();
}

}  // namespace lamella
