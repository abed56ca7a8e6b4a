#include "engine/autograd/backward/pass_inputs.h"

#include "engine/autograd/graph/place.h"
#include "engine/autograd/graph/primitives.h"
#include "engine/core/error.h"

namespace lamella::autograd {
namespace {

Tensor initial_gradient(const Tensor& output, const Tensor& given, const char* op) {
  if (given.defined()) {
    if (given.shape() != output.shape()) {
      fail<ValueError>("[", op, "] the gradient's shape ", given.shape(), " differs from the tensor's, ",
                       output.shape());
    }
    if (given.device() != output.device()) {
      fail<RuntimeError>("[", op, "] the gradient is on ", given.device(), ", the tensor on ", output.device());
    }
    return given.dtype() == output.dtype() ? given : primitives().cast(given, output.dtype());
  }
  if (output.numel() != 1) {
    fail<RuntimeError>("[", op, "] a gradient must be given for a tensor with more than one element, this one is ",
                       output.shape());
  }
  return primitives().full(output.shape(), output.dtype(), output.device(), 1.0);
}

}  // namespace

std::vector<Root> roots_of(std::span<const Tensor> outputs, std::span<const Tensor> grads, const char* op) {
  if (!grads.empty() && grads.size() != outputs.size()) {
    fail<ValueError>("[", op, "] got ", outputs.size(), " tensors and ", grads.size(), " gradients");
  }
  std::vector<Root> roots;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].defined()) fail<ValueError>("[", op, "] tensor ", i, " is undefined");
    Edge edge = gradient_edge(outputs[i]);
    if (!edge) {
      fail<RuntimeError>(
          "[", op, "] tensor ", i,
          " has stop_gradient=True and was not computed from a tensor that wants a gradient: there is nothing to "
          "differentiate; lm.autograd.explain(tensor) tells where it left the tape");
    }
    roots.push_back({std::move(edge), initial_gradient(outputs[i], grads.empty() ? Tensor() : grads[i], op)});
  }
  return roots;
}

std::vector<Edge> edges_of(std::span<const GradTarget> inputs, const char* op) {
  std::vector<Edge> edges;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (const Tensor* x = std::get_if<Tensor>(&inputs[i])) {
      if (!x->defined()) fail<ValueError>("[", op, "] input ", i, " is undefined");
      edges.push_back(gradient_edge(*x));
      if (!edges.back()) fail<RuntimeError>("[", op, "] input ", i, " has stop_gradient=True");
      continue;
    }
    const Edge& edge = std::get<Edge>(inputs[i]);
    if (!edge) fail<ValueError>("[", op, "] input ", i, " is an edge to no node");
    if (edge.input_nr >= edge.node->output_count()) {
      fail<ValueError>("[", op, "] input ", i, " is an edge to output ", edge.input_nr, " of ", edge.node->name(),
                       ", which has ", edge.node->output_count());
    }
    edges.push_back(edge);
  }
  return edges;
}

}  // namespace lamella::autograd
