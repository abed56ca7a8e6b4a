#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "engine/autograd/graph/node.h"
#include "engine/autograd/recording/recorder.h"
#include "engine/autograd/saved/context.h"
#include "engine/autograd/tangents/duals.h"
#include "engine/core/tensor.h"

namespace lamella::autograd {

/// Call of a layer with inputs that have tangents: computes the tangents of the outputs beside it.
class DualCall {
 public:
  /// Function that returns the tangents of a call's outputs at one level, given those of its inputs (undefined for
  /// inputs without): one for each output, undefined where there is none.
  using Rule = std::function<TensorList(const TensorList&)>;

  explicit DualCall(std::span<const Tensor* const> inputs);
  explicit operator bool() const noexcept { return !levels_.empty(); }

  /// Makes the layer's forward and backward see that the inputs with a tangent want a gradient. To be called after
  /// connect_inputs().
  void connect_inputs(Node& node) const;
  /// Settles the outputs of forward, as connect_outputs() does for a recorded call and finish_unrecorded() for another.
  void connect_outputs(const Ref<Node>& node, Context& ctx, bool recording, std::span<const Tensor* const> inputs,
                       std::span<Tensor* const> outputs, const Dialect& dialect = {});

  /// Computes the outputs' tangents by `rule`, level by level, and gives them to the outputs, as they left the call,
  /// and to their copies in the context. `node` is the layer's, if there is one: `rule` may run its backward.
  void finish(Node* node, Context* ctx, std::span<Tensor* const> outputs, const Rule& rule);
  /// Returns the tangents of the outputs of a layer that has only a backward: as backward is linear in the gradients,
  /// its transpose (computed by a second backward pass) is the layer's derivative. RuntimeError where backward is not
  /// made of recorded operators.
  TensorList transpose(Node& node, std::span<Tensor* const> outputs, const TensorList& tangents) const;
  /// Returns the tangents for a layer's own jvp: `tangents` with zeros where an input has none, unless that was
  /// switched off.
  TensorList prepare(const Context& ctx, TensorList tangents) const;

 private:
  struct AtLevel {
    std::uint64_t level;
    TensorList tangents;
  };

  void attach(std::uint64_t level, const TensorList& tangents, std::span<Tensor* const> outputs, Context* ctx) const;

  TensorList inputs_;
  std::vector<AtLevel> levels_;
  /// True if the call itself is recorded.
  bool recorded_ = false;
  /// Handle of each output that forward kept; undefined where it kept none.
  TensorList kept_;
  /// Outputs that were marked as constants.
  TensorList constants_;
};

/// Returns the tangents that a layer's jvp returned, cast to the outputs' dtypes. ValueError for another number or
/// shape, RuntimeError for another device.
TensorList conform_tangents(const Node& node, std::span<Tensor* const> outputs, TensorList tangents);

/// Throws RuntimeError where a backward that is marked once-differentiable runs with tangents, which it would lose.
void refuse_once_dual(const Node& layer, const TensorList& grads);
/// Throws RuntimeError for a layer that has no jvp, and whose backward cannot be transposed as it is marked
/// once-differentiable.
[[noreturn]] void fail_no_jvp(const Node& layer);

}  // namespace lamella::autograd
