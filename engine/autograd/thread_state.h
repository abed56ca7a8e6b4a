#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/autograd/modes.h"
#include "engine/autograd/vmap_rule.h"

namespace lamella::autograd {

class SavedTensorHooks;
class Anomaly;
class Selection;

/// What a thread has entered, beside its Modes: the scopes that few programs use. A pass that goes on in another thread
/// takes it along.
struct ThreadState {
  /// Calls of jvp that are under way, innermost last; a tangent of another level is out of date.
  std::vector<std::uint64_t> dual_levels;
  /// Tangents of this level and of inner ones are not looked at: those of outer ones are being computed.
  std::uint64_t dual_limit = UINT64_MAX;
  /// Calls of vmap that are under way, innermost last.
  std::vector<std::uint64_t> batch_levels;
  /// What else is known of those that a function is being mapped by; a batched backward pass has none.
  std::vector<BatchScope> batch_scopes;
  /// Pairs of functions that tensors are packed with when they are saved, innermost last.
  std::vector<std::shared_ptr<const SavedTensorHooks>> saved_tensor_hooks;
  /// Set while a checkpoint with a policy runs.
  std::shared_ptr<Selection> selection;
  /// Set in detect_anomaly.
  std::shared_ptr<Anomaly> anomaly;
};

/// This thread's.
ThreadState& thread_state() noexcept;

/// Levels are never used twice: what outlives its scope is recognized.
std::uint64_t next_level() noexcept;

}  // namespace lamella::autograd
