#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "engine/autograd/graph/hook_table.h"
#include "engine/core/tensor.h"

namespace lamella::autograd {

/// Moment at which a hook on several tensors runs.
enum class MultiGradMode : std::uint8_t {
  /// Once in a pass, when the gradients of all tensors that the pass reaches are there.
  All,
  /// Once in a pass, at the first gradient.
  Any,
};
/// Hook on several tensors: gets the gradients in their order, undefined for tensors that the pass does not reach. With
/// MultiGradMode::Any all but one are undefined.
using MultiGradHook = std::function<void(const std::vector<Tensor>& grads)>;
/// Registers one hook on several tensors, each of which must want a gradient (RuntimeError). A tensor whose gradient a
/// pass finds to be none (a layer returned nothing for it) is not waited for beyond the pass's end: the hook runs
/// there, before callbacks queued later. `wrap`, where given, turns the hook of each tensor into the one that is
/// registered, so that a host language can tie objects of its own to it.
HookHandle register_multi_grad_hook(std::span<const Tensor> tensors, MultiGradHook hook,
                                    MultiGradMode mode = MultiGradMode::All,
                                    const std::function<TensorHook(TensorHook member)>& wrap = {});

}  // namespace lamella::autograd
