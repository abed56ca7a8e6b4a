#pragma once

#include <initializer_list>
#include <span>
#include <vector>

#include "engine/autograd/backward/pass_inputs.h"
#include "engine/autograd/graph/node.h"
#include "engine/core/tensor.h"

namespace lamella::autograd {

/// Options of grad().
struct GradOptions {
  /// Keep the saved tensors, for another pass through the same graph. The default is `create_graph`.
  bool retain_graph = false;
  /// Record the pass itself, for higher derivatives.
  bool create_graph = false;
  /// Inputs that the outputs do not depend on give an undefined gradient instead of a RuntimeError.
  bool allow_unused = false;
  /// Inputs that the outputs do not depend on give zeros instead of a RuntimeError.
  bool materialize_grads = false;
  /// Each of `grad_outputs` has one more axis, the first: the gradients of all its entries are computed in one pass,
  /// and the results have that axis too.
  bool is_grads_batched = false;
};

/// Computes the gradients of `tensors` and adds them to the `grad` of the leaves that want one.
///
/// `grad_tensors` are the gradients to begin with, one for each tensor; an empty list, or an undefined entry, stands
/// for ones, which only a tensor with one element may leave out. Where `inputs` are named, only their gradients are
/// computed, and added to their `grad` also where they are no leaves. RuntimeError where a tensor is off the tape or
/// the graph was freed; ValueError for a shape that does not fit. Nodes run on the calling thread, newest first.
void backward(std::span<const Tensor> tensors, std::span<const Tensor> grad_tensors = {}, bool retain_graph = false,
              bool create_graph = false, std::span<const Tensor> inputs = {});
/// Computes gradients as backward() does, for `inputs` of which some are edges. Each edge must lead to a leaf
/// (ValueError).
void backward(std::span<const Tensor> tensors, std::span<const Tensor> grad_tensors, bool retain_graph,
              bool create_graph, std::span<const GradTarget> inputs);
inline void backward(std::initializer_list<Tensor> tensors, bool retain_graph = false, bool create_graph = false) {
  backward(std::span(tensors.begin(), tensors.size()), {}, retain_graph, create_graph);
}
inline void backward(const Tensor& tensor, const Tensor& grad = {}, bool retain_graph = false,
                     bool create_graph = false) {
  backward(std::span(&tensor, 1), std::span(&grad, grad.defined() ? 1 : 0), retain_graph, create_graph);
}

/// Computes and returns the gradients of `outputs` with respect to `inputs`; no `grad` is touched.
std::vector<Tensor> grad(std::span<const Tensor> outputs, std::span<const Tensor> inputs,
                         std::span<const Tensor> grad_outputs = {}, const GradOptions& options = {});
/// Computes gradients as grad() does, for `inputs` of which some are edges. materialize_grads needs tensors, whose
/// shape it takes (ValueError).
std::vector<Tensor> grad(std::span<const Tensor> outputs, std::span<const GradTarget> inputs,
                         std::span<const Tensor> grad_outputs, const GradOptions& options);
inline std::vector<Tensor> grad(std::initializer_list<Tensor> outputs, std::initializer_list<Tensor> inputs,
                                const GradOptions& options = {}) {
  return grad(std::span(outputs.begin(), outputs.size()), std::span(inputs.begin(), inputs.size()), {}, options);
}

}  // namespace lamella::autograd
