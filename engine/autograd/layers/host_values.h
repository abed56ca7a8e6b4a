#pragma once

#include "engine/autograd/graph/node.h"
#include "engine/autograd/saved/context.h"
#include "engine/core/tensor.h"

// Note [Host values]
// A layer's backward or jvp may compute outside of the engine (in numpy, for one). That is right for the derivative
// that it is asked for, and loses the next one: a tensor that comes back from the host language is on no tape and has
// no tangent. So where a backward or jvp is itself recorded, or runs with tangents, tensors made of the host's values
// after some tensor's had gone there (in it, or in the layer's forward) stand for values that depend on everything the
// layer knows: a gradient that really arrives there is an error, and so is a derivative of forward mode through one.

namespace lamella::autograd {

/// Scope of a layer's backward or jvp in the host language, beside RecordedBackward. `incoming` are its arguments:
/// gradients or tangents. `escaped` says that values of an input, or values derived from one, left the layer's forward
/// for the host language; `numbers` that some of these may be numbers that the layer kept: they leave no mark on the
/// tensors that they are multiplied with, so that the whole result is taken to depend on them.
class FollowHost {
 public:
  FollowHost(const Node& layer, const Context& ctx, const TensorList& incoming, bool escaped, bool numbers);
  ~FollowHost();
  FollowHost(const FollowHost&) = delete;
  FollowHost& operator=(const FollowHost&) = delete;

  /// Puts results of the layer that may depend on the inputs unseen on the tape, as ones that do. RuntimeError where
  /// forward mode would lose their tangents.
  void settle(TensorList& results) const;

 private:
  const Node& layer_;
  const Context& ctx_;
  const TensorList& incoming_;
  const bool follows_;
  const bool escaped_before_;
  const TensorList* const incoming_before_;
  const bool numbers_before_;
};

/// Returns x, made of the host's values, marked where Modes::escaped is set as a tensor that may depend on a layer's
/// inputs.
Tensor came_from_host(Tensor x);
/// Notes that x's values go to the host language.
void note_escape(const Tensor& x);
/// Notes that a number that may come from a tensor's values takes part in what is computed.
void note_host_number() noexcept;
/// Throws RuntimeError where x has a tangent, which would be lost when `op` gives its values to the host language.
void refuse_dual_escape(const Tensor& x, const char* op);

}  // namespace lamella::autograd
