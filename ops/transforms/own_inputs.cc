#include "ops/transforms/own_inputs.h"

#include <algorithm>
#include <unordered_set>

#include "engine/autograd/backward/backward.h"
#include "engine/autograd/forward_mode/forward_ad.h"
#include "engine/autograd/graph/accumulate.h"
#include "engine/autograd/graph/place.h"
#include "engine/core/modes.h"
#include "ops/creation/creation.h"
#include "ops/elementwise/in_place.h"
#include "ops/shape/alias.h"

namespace lamella::autograd {

std::vector<Tensor> own_inputs(std::span<const Tensor> inputs, bool connected, const char* op) {
  std::vector<Tensor> own;
  own.reserve(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& x = inputs[i];
    if (!x.defined()) fail<ValueError>("[", op, "] input ", i, " is undefined");
    if (!is_differentiable(x.dtype())) {
      fail<TypeError>("[", op, "] input ", i, " is ", describe(x),
                      ": only floating and complex tensors can be differentiated");
    }
    if (connected && wants_gradient(x)) {
      const EnableGrad recording;
      own.push_back(own_alias(x));
    } else {
      own.push_back(off_tape(x).set_requires_grad(true));
    }
  }
  return own;
}

bool depends_on_others(std::span<const Tensor> outputs, std::span<const Tensor> own) {
  // Each own input ends its paths: what a connected alias leads to counts as the input's, and a leaf leads to itself.
  std::unordered_set<const Node*> seen;
  std::vector<Ref<Node>> waiting;
  const auto visit = [&](const Ref<Node>& node) {
    if (node && seen.insert(node.get()).second) waiting.push_back(node);
  };
  for (const Tensor& y : outputs) {
    if (y.defined()) visit(gradient_edge(y).node);
  }
  while (!waiting.empty()) {
    const Ref<Node> node = std::move(waiting.back());
    waiting.pop_back();
    if (const auto* end = dynamic_cast<const AccumulateGrad*>(node.get())) {
      const bool ours = std::ranges::any_of(own, [&](const Tensor& x) { return x.same(end->leaf()); });
      if (!ours) return true;
    }
    for (const Edge& edge : node->edges()) visit(edge.node);
  }
  return false;
}

std::vector<Tensor> call_recorded(const TensorFunction& func, std::span<const Tensor> inputs, const char* op) {
  const EnableGrad recording;
  std::vector<Tensor> outputs = func(inputs);
  if (outputs.empty()) fail<TypeError>("[", op, "] the function returned no tensor");
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].defined()) fail<TypeError>("[", op, "] output ", i, " of the function is undefined");
  }
  return outputs;
}

void check_differentiable(std::span<const Tensor> outputs, const char* op) {
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    if (is_differentiable(outputs[o].dtype())) continue;
    fail<TypeError>("[", op, "] output ", o, " of the function is ", describe(outputs[o]),
                    ": only floating and complex tensors can be differentiated");
  }
}

Tensor one_hot_like(const Tensor& y, std::int64_t element) {
  const NoGrad off;
  const Tensor result = zeros(y.shape(), y.dtype(), y.device());
  fill_(make_view(result, {}, {}, element), 1);
  return result;
}

Dims joined(DimsView first, DimsView second) {
  Dims shape(first);
  for (const std::int64_t size : second) shape.push_back(size);
  return shape;
}

std::vector<Tensor> grad_where_recorded(std::span<const Tensor> outputs, std::span<const Tensor> inputs,
                                        std::span<const Tensor> grad_outputs, bool create_graph) {
  std::vector<Tensor> recorded;
  std::vector<Tensor> seeds;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].defined() || !wants_gradient(outputs[i])) continue;
    if (!grad_outputs.empty()) {
      if (!grad_outputs[i].defined()) continue;
      seeds.push_back(grad_outputs[i]);
    }
    recorded.push_back(outputs[i]);
  }
  if (recorded.empty()) return std::vector<Tensor>(inputs.size());
  return grad(recorded, inputs, seeds, {.retain_graph = true, .create_graph = create_graph, .allow_unused = true});
}

}  // namespace lamella::autograd
