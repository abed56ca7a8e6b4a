#pragma once

#include <type_traits>

#include "engine/autograd/layers/function.h"

namespace lamella {

/// Base of the operators' own layers. They return gradients of the right number, shapes and dtypes, which are therefore
/// not checked.
template <class Layer>
struct OperatorLayer : Function<Layer> {
  static constexpr bool kChecksGradients = false;
};

/// Base of those that are linear in all their tensors together, so that `forward` is their rule for tangents, too.
template <class Layer>
struct LinearOperatorLayer : OperatorLayer<Layer> {
  static constexpr bool kLinear = true;
};

/// Keeps a state and tensors for backward if the call is recorded.
template <class State, class... Tensors>
void save_with(Context& ctx, const std::type_identity_t<State>& state, const Tensors&... tensors) {
  if (!ctx.recording()) return;
  ctx.save_for_backward(tensors...);
  ctx.state<State>() = state;
}

}  // namespace lamella
