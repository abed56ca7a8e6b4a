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

/// One call of a layer with inputs that have tangents: what is done beside the call itself.
class DualCall {
 public:
  /// The tangents of a call's outputs at one level, given those of its inputs (undefined ones for inputs without): one
  /// for each output, undefined where there is none.
  using Rule = std::function<TensorList(const TensorList&)>;

  explicit DualCall(std::span<const Tensor* const> inputs);
  explicit operator bool() const noexcept { return !levels_.empty(); }

  /// Makes the layer's forward and backward see that the inputs with a tangent want a gradient. To be called after
  /// connect_inputs().
  void connect_inputs(Node& node) const;
  /// Settles what forward returned, as connect_outputs() or finish_unrecorded() does: whichever fits the call.
  void connect_outputs(const Ref<Node>& node, Context& ctx, bool recording, std::span<const Tensor* const> inputs,
                       std::span<Tensor* const> outputs, const Dialect& dialect = {});

  /// Computes the outputs' tangents by `rule`, level by level, and gives them to the outputs, as they left the call,
  /// and to what the context saved of them. `node` is the layer's, if there is one: `rule` may run its backward.
  void finish(Node* node, Context* ctx, std::span<Tensor* const> outputs, const Rule& rule);
  /// The rule for layers that have only a backward: as that is linear in the gradients, its transpose (computed by a
  /// second backward pass) is the layer's derivative. RuntimeError where backward is not made of recorded operators.
  TensorList transpose(Node& node, std::span<Tensor* const> outputs, const TensorList& tangents) const;
  /// What a layer's own jvp gets: `tangents` with zeros for what has none, unless that was switched off.
  TensorList prepare(const Context& ctx, TensorList tangents) const;

 private:
  struct AtLevel {
    std::uint64_t level;
    TensorList tangents;
  };

  void attach(std::uint64_t level, const TensorList& tangents, std::span<Tensor* const> outputs, Context* ctx) const;

  TensorList inputs_;
  std::vector<AtLevel> levels_;
  /// Whether the call itself is recorded.
  bool recorded_ = false;
  /// For each output, the handle that forward kept, if any.
  TensorList kept_;
  /// The outputs that were marked as constants.
  TensorList constants_;
};

/// What a layer's jvp returned, as the outputs need it: cast to their dtypes. ValueError for another number or shape,
/// RuntimeError for another device.
TensorList conform_tangents(const Node& node, std::span<Tensor* const> outputs, TensorList tangents);

/// RuntimeError where a backward that is marked once-differentiable runs with tangents, which it would lose.
void refuse_once_dual(const Node& layer, const TensorList& grads);
/// The same for a layer that has no jvp and whose backward cannot be transposed.
[[noreturn]] void fail_no_jvp(const Node& layer);

}  // namespace lamella::autograd
