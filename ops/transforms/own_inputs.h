#pragma once

#include <span>
#include <vector>

#include "ops/transforms/functional.h"

namespace lamella::autograd {

/// Tensors on the memory of `inputs` that all want a gradient: where `connected`, a recorded alias of one that wants a
/// gradient already, so that what is computed from it stays tied to it; a new leaf otherwise. ValueError for an
/// undefined tensor, TypeError for a dtype that has no gradient; `op` opens their messages.
std::vector<Tensor> own_inputs(std::span<const Tensor> inputs, bool connected, const char* op);

/// Whether the graphs of `outputs` reach a leaf that is none of `own`: something else that wants a gradient.
bool depends_on_others(std::span<const Tensor> outputs, std::span<const Tensor> own);

/// What `func` gives for `inputs`, recorded. TypeError where it returns nothing, or an undefined tensor.
std::vector<Tensor> call_recorded(const TensorFunction& func, std::span<const Tensor> inputs, const char* op);

/// TypeError for an output of a dtype that has no derivative.
void check_differentiable(std::span<const Tensor> outputs, const char* op);

/// Zeros like y, off the tape, with 1 at `element` in row-major order.
Tensor one_hot_like(const Tensor& y, std::int64_t element);

/// The sizes of `first`, then those of `second`: the shape of a derivative of the one by the other.
Dims joined(DimsView first, DimsView second);

/// grad() that leaves out outputs without a graph, and is all undefined where no output has one. Keeps the graph.
std::vector<Tensor> grad_where_recorded(std::span<const Tensor> outputs, std::span<const Tensor> inputs,
                                        std::span<const Tensor> grad_outputs, bool create_graph);

}  // namespace lamella::autograd
