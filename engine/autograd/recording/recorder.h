#pragma once

#include <memory>
#include <span>

#include "engine/autograd/graph/node.h"
#include "engine/autograd/graph/place.h"
#include "engine/autograd/recording/aliases.h"
#include "engine/autograd/saved/context.h"
#include "engine/autograd/tangents/duals.h"
#include "engine/core/modes.h"

namespace lamella::autograd {

/// Rules of a layer on which the systems that users come from differ.
struct Dialect {
  /// Takes an unmarked input that is returned as an output for written in place (Paddle); otherwise it becomes a new
  /// tensor (PyTorch).
  bool returned_input_is_in_place = false;
  /// Refuses a gradient for an input that wants none (Paddle); otherwise it is ignored.
  bool strict_stop_gradient = false;
  /// Takes integer outputs for differentiable (Paddle).
  bool integer_outputs = false;
};

/// True if a call with these inputs is to be recorded.
template <class Inputs>
[[gnu::always_inline]] inline bool should_record(const Inputs& inputs) {
  if (!is_grad_enabled()) return false;
  for (const Tensor* x : inputs) {
    if (wants_gradient(*x)) return true;
  }
  return false;
}

/// Suspends recording and forward mode while a layer's forward runs, and has tensors marked that derive from its
/// inputs; see Note [Intermediates].
class ForwardScope {
 public:
  explicit ForwardScope(bool recording) noexcept : before_(modes()) {
    modes().grad_enabled = false;
    modes().internal = false;
    modes().in_forward = recording || before_.in_forward;
    modes().escaped = before_.in_forward && before_.escaped;
    modes().recorded_backward = nullptr;
    if (duals_active()) [[unlikely]]
      hidden_ = std::make_unique<HideLevels>();
  }
  ~ForwardScope() {
    hidden_.reset();
    // Keeps an escape noted, as values that escaped from a layer called in another's forward may come back there.
    const bool escaped = before_.in_forward && modes().escaped;
    modes() = before_;
    modes().escaped |= escaped;
  }
  ForwardScope(const ForwardScope&) = delete;
  ForwardScope& operator=(const ForwardScope&) = delete;

 private:
  Modes before_;
  std::unique_ptr<HideLevels> hidden_;
};

/// Scope of the backward of a custom layer. While it is recorded, or runs with tangents, reads of intermediates of the
/// layer's forward are noticed.
class RecordedBackward {
 public:
  explicit RecordedBackward(const Node& layer) noexcept : before_(modes().recorded_backward) {
    modes().recorded_backward = is_grad_enabled() || duals_active() ? &layer : nullptr;
  }
  ~RecordedBackward() { modes().recorded_backward = before_; }
  RecordedBackward(const RecordedBackward&) = delete;
  RecordedBackward& operator=(const RecordedBackward&) = delete;

 private:
  const Node* before_;
  UserScope user_;
};

/// Marks the result of an unrecorded op in a layer's forward as derived, where an input wants a gradient, has a tangent
/// or is derived itself.
template <class Inputs>
inline void note_derived(const Inputs& inputs, const Tensor& output) {
  if (!modes().in_forward || !is_differentiable(output.dtype())) [[likely]]
    return;
  for (const Tensor* x : inputs) {
    if ((*x)->flags & TensorImpl::kDerived || wants_gradient(*x) || has_tangents(*x)) {
      output->flags |= TensorImpl::kDerived;
      return;
    }
  }
}

/// Follows the result of a call that was not recorded, where it shows an input's memory.
inline void track_result(std::span<const Tensor* const> inputs, const Tensor& y) {
  if ((y->flags & (TensorImpl::kView | TensorImpl::kTracked)) != TensorImpl::kView) return;
  if (is_grad_enabled()) {
    track_unrecorded(inputs, y);
  } else if (!modes().internal) {
    note_unrecorded_view(inputs, y);
  }
}

/// Notes the versions of the inputs of a layer's call that is not recorded, where forward may write past the tape.
inline void note_departed_inputs(Context& ctx, std::span<const Tensor* const> inputs) {
  if (!is_grad_enabled()) return;
  for (const Tensor* x : inputs) {
    if (!(*x)->storage->has_mark(Storage::kDeparted)) continue;
    for (const Tensor* y : inputs) ctx.input_metas.emplace_back(*y);
    return;
  }
}

/// Adds one edge for each input to a new node.
template <class Inputs>
void connect_inputs(Node& node, const Inputs& inputs) {
  for (const Tensor* x : inputs) node.add_edge(gradient_edge(*x));
}

/// Puts the results of a recorded call on the tape as outputs of `node`: replaces, in `outputs`, the handles that must
/// be new ones, and settles the tensors that the context saved. `inputs` are the call's tensors.
void connect_outputs(const Ref<Node>& node, Context& ctx, std::span<const Tensor* const> inputs,
                     std::span<Tensor* const> outputs, const Dialect& dialect = {});
/// Settles the results of a call that is not recorded: inputs returned as outputs become new handles, marks are
/// checked.
void finish_unrecorded(Context& ctx, std::span<const Tensor* const> inputs, std::span<Tensor* const> outputs,
                       const Dialect& dialect = {});

/// True if `op`, which writes into x in place, is to be recorded: recording is on, and x or `other` (may be undefined)
/// wants a gradient, or one of them has a tangent. RuntimeError where it is and cannot be: x is a leaf that wants a
/// gradient or a view of one, or shares its memory in a way that Note [Views] does not follow. RuntimeError also where
/// recording is on and the write would change a tensor on the tape unseen: see Note [Aliases off the tape].
bool records_in_place(const char* op, const Tensor& x, const Tensor& other);
/// Gives x, whose memory now holds the values of `result`, result's place on the tape and its tangents; an undefined
/// one stands for a constant. The base and the other views of x's memory follow.
void take_place(const Tensor& x, const Tensor& result);

}  // namespace lamella::autograd
