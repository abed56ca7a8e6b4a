#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/core/batch_scope.h"
#include "engine/core/ref.h"
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
class CallCapture;

/// Levels that a checkpoint's function enters, in order. Its repetition enters the same ones: what the two runs save is
/// put together, and hidden axes and tangents are told apart by their levels. Held by Ref, as the room for thread_local
/// objects is small.
class LevelRun {
 public:
  /// A run that notes its levels in `levels`, or one that repeats them.
  LevelRun(std::shared_ptr<std::vector<std::uint64_t>> levels, bool repeats)
      : levels_(std::move(levels)), repeats_(repeats) {}

  /// Returns the next level; a new one where the first run entered no more.
  std::uint64_t next();

  void retain() noexcept { owners_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept {
    if (owners_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

 private:
  std::atomic<int> owners_{1};
  std::shared_ptr<std::vector<std::uint64_t>> levels_;
  bool repeats_;
  std::size_t next_ = 0;
};

/// The scopes that a thread has entered, besides its Modes; few programs use them. A pass that continues in another
/// thread takes them along.
struct ThreadState {
  /// The active levels of forward mode, innermost last; tangents of other levels are ignored. If there are any,
  /// Modes::kDuals is set.
  std::vector<std::shared_ptr<LiveLevel>> dual_levels;
  /// Active calls of vmap, innermost last.
  std::vector<std::uint64_t> batch_levels;
  /// Further state of the calls that map a function; a batched backward pass has none.
  std::vector<BatchScope> batch_scopes;
  /// Pairs of functions that pack saved tensors, innermost last; null if none is to be used.
  std::vector<std::shared_ptr<const SavedTensorHooks>> saved_tensor_hooks;
  /// Reasons why such pairs must not be used, if that was requested; innermost last.
  std::vector<std::string> saved_tensor_hooks_disabled;
  /// Set while a checkpoint with a policy runs.
  std::shared_ptr<Selection> selection;
  /// Set while a checkpoint's function runs: what its calls read is noted, or compared.
  std::shared_ptr<AccessWatch> access_watch;
  /// Set while a checkpoint's function runs: the levels that it enters are noted, or entered again.
  Ref<LevelRun> level_run;
  /// Set while a graph is recorded, along with Modes::kCapture.
  CallCapture* capture = nullptr;
  /// The gradients or tangents that the innermost backward or jvp in the host language was given.
  const TensorList* incoming = nullptr;
  /// True if values that the host language read from tensors may influence what that backward or jvp computes.
  bool host_numbers = false;
  /// Set in detect_anomaly.
  std::shared_ptr<Anomaly> anomaly;
};

/// Returns this thread's state.
ThreadState& thread_state() noexcept;

/// Returns a new level. Levels are never reused, so that tensors that outlive their scope are recognized.
std::uint64_t next_level() noexcept;

/// Returns the level of a scope that this thread enters: a new one, but in the repetition of a checkpoint's function.
std::uint64_t next_scope_level();

}  // namespace autograd
}  // namespace lamella
