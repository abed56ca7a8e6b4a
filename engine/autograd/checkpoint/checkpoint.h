#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/autograd/checkpoint/read_watch.h"
#include "engine/autograd/checkpoint/selection.h"
#include "engine/autograd/saved/saved_tensor_hooks.h"
#include "engine/core/error.h"
#include "engine/core/modes.h"
#include "engine/core/tensor.h"
#include "engine/core/tensors_in.h"
#include "engine/core/thread_state.h"

namespace lamella::autograd {

struct CheckpointOptions {
  /// Draw the random numbers of the first run again in the second.
  bool preserve_rng_state = true;
  /// Compare the tensors that the second run saves, and the calls that it makes under a policy, with those of the
  /// first.
  bool check = true;
  /// End the second run once everything that is still wanted is there.
  bool early_stop = true;
  /// Policy that selects calls whose results are kept; empty keeps none.
  CheckpointPolicy policy{};
};

/// Exception that leaves the second run of a checkpoint's function when everything is there. Not a std::exception, so
/// that no function takes it for an error.
struct StopRecomputation {
  /// Address of the run that is to end.
  const void* run;
};

class CheckpointFrame;

/// Scope of the first run of a checkpoint's function: while it lasts, place holders are saved instead of tensors. The
/// first of them that backward asks for runs `recompute`, with other tensors for `inputs`. See Note [Checkpoints] in
/// checkpoint.cc.
class CheckpointScope {
 public:
  using Recompute = std::function<void(std::span<const Tensor> inputs)>;

  /// Throws RuntimeError inside DisableSavedTensorHooks. Does nothing where recording is off.
  CheckpointScope(Recompute recompute, std::span<const Tensor* const> inputs, const CheckpointOptions& options);
  ~CheckpointScope();
  CheckpointScope(const CheckpointScope&) = delete;
  CheckpointScope& operator=(const CheckpointScope&) = delete;
  /// Notes that the function came to its end.
  void complete() noexcept;

 private:
  std::shared_ptr<CheckpointFrame> frame_;
  std::shared_ptr<const SavedTensorHooks> hooks_;
  std::shared_ptr<Selection> selection_before_;
  Ref<LevelRun> level_run_before_;
  std::optional<WatchReads> reads_;
  std::uint8_t interceptors_before_ = 0;
};

/// Finds, for a host's collector of cycles that walks through a graph, the checkpoints that nothing else holds. Their
/// functions may hold results of the graph.
class CheckpointReferences {
 public:
  /// True if there is any checkpoint.
  static bool any() noexcept;
  /// Notes a saved tensor that the walk has found, and whose only owner it has found.
  void add(const Packed& packed);
  /// Calls f with the function of each checkpoint whose holders were all found.
  void for_each_owned(const std::function<void(const CheckpointScope::Recompute&)>& f);

 private:
  struct Found {
    const CheckpointFrame* frame;
    long holders = 0;
    long hooks = 0;
    long hooks_owners = 0;
    bool owned = false;
  };
  std::vector<Found> found_;
};

namespace detail {

/// Function and its arguments without their tensors, for another run.
template <class F, class... Args>
class CheckpointedCall {
 public:
  explicit CheckpointedCall(F function, std::tuple<Args...> args, std::vector<Tensor>& tensors)
      : function_(std::move(function)), args_(std::move(args)) {
    for_each_tensor(args_, [&](Tensor& x) { tensors.push_back(std::exchange(x, Tensor())); });
  }
  decltype(auto) run(std::span<const Tensor> tensors) {
    std::tuple<Args...> args = args_;
    std::size_t next = 0;
    for_each_tensor(args, [&](Tensor& x) { x = tensors[next++]; });
    return std::apply(function_, std::move(args));
  }

 private:
  F function_;
  std::tuple<Args...> args_;
};

}  // namespace detail

/// Calls `function(args...)` without keeping the tensors that its operations save for backward, which runs it again
/// instead: memory for time. Gradients are the same, of any order, and through tensors that the function only refers to
/// as well.
///
/// The function must do the same on each call (RuntimeError in backward where it saves other tensors); the random
/// numbers of the first run are drawn again. Arguments are copied, with their tensors, which must not be written to
/// until backward (RuntimeError there), nor must tensors that the function refers to. Tensors in vectors, tuples,
/// optionals and plain structs are seen. Without recording it is a plain call.
///
///     Tensor y = checkpoint([&](const Tensor& x) { return block(x); }, x);
template <class F, class... Args>
  requires(!std::is_same_v<std::decay_t<F>, CheckpointOptions>)
auto checkpoint(const CheckpointOptions& options, F&& function, Args&&... args) {
  using Call = detail::CheckpointedCall<std::decay_t<F>, std::decay_t<Args>...>;
  std::vector<Tensor> tensors;
  const auto call = std::make_shared<Call>(std::forward<F>(function),
                                           std::tuple<std::decay_t<Args>...>(std::forward<Args>(args)...), tensors);
  if (!is_grad_enabled()) return call->run(tensors);
  std::vector<const Tensor*> inputs;
  inputs.reserve(tensors.size());
  for (const Tensor& x : tensors) inputs.push_back(&x);
  CheckpointScope scope([call](std::span<const Tensor> again) { call->run(again); }, inputs, options);
  auto result = call->run(tensors);
  scope.complete();
  return result;
}
template <class F, class... Args>
  requires(!std::is_same_v<std::decay_t<F>, CheckpointOptions>)
auto checkpoint(F&& function, Args&&... args) {
  return checkpoint(CheckpointOptions(), std::forward<F>(function), std::forward<Args>(args)...);
}

/// Calls `functions` one after the other on `input`, in `segments` checkpoints of about equal length; the last one runs
/// without a checkpoint, as its backward comes first anyway. ValueError unless 1 <= segments <= the number of
/// functions.
Tensor checkpoint_sequential(std::span<const std::function<Tensor(const Tensor&)>> functions, std::size_t segments,
                             const Tensor& input, const CheckpointOptions& options = {});

}  // namespace lamella::autograd
