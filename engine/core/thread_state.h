#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/core/batch_scope.h"
#include "engine/core/small_vector.h"

namespace lamella {

class Tensor;
using TensorList = SmallVector<Tensor, 2>;

namespace autograd {

class LiveLevel;
class SavedTensorHooks;
class AccessWatch;
class Anomaly;
class Selection;

/// What a thread has entered, beside its Modes: the scopes that few programs use. A pass that goes on in another thread
/// takes it along.
struct ThreadState {
  /// The levels of forward mode that are looked at, innermost last; a tangent of another level is not. Where there are
  /// any, Modes::kDuals is set.
  std::vector<std::shared_ptr<LiveLevel>> dual_levels;
  /// Calls of vmap that are under way, innermost last.
  std::vector<std::uint64_t> batch_levels;
  /// What else is known of those that a function is being mapped by; a batched backward pass has none.
  std::vector<BatchScope> batch_scopes;
  /// Pairs of functions that tensors are packed with when they are saved, innermost last; null where none is to be
  /// used.
  std::vector<std::shared_ptr<const SavedTensorHooks>> saved_tensor_hooks;
  /// Why such pairs must not be used, where somebody said so; innermost last.
  std::vector<std::string> saved_tensor_hooks_disabled;
  /// Set while a checkpoint with a policy runs.
  std::shared_ptr<Selection> selection;
  /// Set while a checkpoint's function runs: what its calls read is noted, or compared.
  std::shared_ptr<AccessWatch> access_watch;
  /// The gradients or tangents that the innermost backward or jvp in the host language was given.
  const TensorList* incoming = nullptr;
  /// Numbers that the host language read of tensors may be in what that backward or jvp computes.
  bool host_numbers = false;
  /// Set in detect_anomaly.
  std::shared_ptr<Anomaly> anomaly;
};

/// This thread's.
ThreadState& thread_state() noexcept;

/// Levels are never used twice: what outlives its scope is recognized.
std::uint64_t next_level() noexcept;

}  // namespace autograd
}  // namespace lamella
