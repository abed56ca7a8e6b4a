#pragma once

#include <span>
#include <vector>

#include "ops/transforms/options.h"

namespace lamella::autograd {

/// Returns tensors on the memory of `inputs` that all require a gradient. If `connected`, one that already requires a
/// gradient becomes a recorded alias, so that results stay tied to it; otherwise a new leaf. Throws ValueError for an
/// undefined tensor, TypeError for a dtype that has no gradient; `op` opens the messages.
std::vector<Tensor> own_inputs(std::span<const Tensor> inputs, bool connected, const char* op);

/// True if the graphs of `outputs` reach a leaf that is not in `own`: something else that requires a gradient.
bool depends_on_others(std::span<const Tensor> outputs, std::span<const Tensor> own);

/// Returns func(inputs), recorded. Throws TypeError if it returns nothing, or an undefined tensor.
std::vector<Tensor> call_recorded(const TensorFunction& func, std::span<const Tensor> inputs, const char* op);

/// Throws TypeError for an output of a dtype that has no derivative.
void check_differentiable(std::span<const Tensor> outputs, const char* op);

/// Returns zeros like y, off the tape, with 1 at the row-major position `element`.
Tensor one_hot_like(const Tensor& y, std::int64_t element);

/// Returns the sizes of `first` followed by those of `second`: the shape of a derivative.
Dims joined(DimsView first, DimsView second);

/// Calls grad() without the outputs that have no graph; the results are all undefined if no output has one. Keeps the
/// graph.
std::vector<Tensor> grad_where_recorded(std::span<const Tensor> outputs, std::span<const Tensor> inputs,
                                        std::span<const Tensor> grad_outputs, bool create_graph);

}  // namespace lamella::autograd
