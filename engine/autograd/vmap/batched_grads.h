#pragma once

#include <span>
#include <vector>

#include "engine/autograd/graph/primitives.h"
#include "engine/core/error.h"
#include "engine/core/tensor.h"
#include "engine/core/thread_state.h"

namespace lamella::autograd {

/// Gradients that a batched pass begins with, each with its first axis hidden: to the pass they are single ones.
class BatchedGrads {
 public:
  BatchedGrads(std::span<const Tensor> outputs, std::span<const Tensor> grads) {
    for (std::size_t i = 0; i < grads.size(); ++i) {
      if (!grads[i].defined() || i >= outputs.size()) continue;
      const Dims& shape = grads[i].shape();
      if (shape.empty() || (size_ >= 0 && shape[0] != size_)) {
        fail<ValueError>("[grad] with is_grads_batched every gradient has a first axis of the same size; gradient ", i,
                         " is of shape ", shape);
      }
      size_ = shape[0];
    }
    if (size_ < 0) fail<ValueError>("[grad] is_grads_batched needs grad_outputs");
    for (const Tensor& grad : grads) hidden_.push_back(grad.defined() ? primitives().hide_axis(grad, level_) : grad);
    thread_state().batch_levels.push_back(level_);
  }
  ~BatchedGrads() { thread_state().batch_levels.pop_back(); }
  BatchedGrads(const BatchedGrads&) = delete;
  BatchedGrads& operator=(const BatchedGrads&) = delete;

  std::span<const Tensor> hidden() const { return hidden_; }
  Tensor shown(const Tensor& grad) const { return primitives().show_axis(grad, level_, size_); }

 private:
  const std::uint64_t level_ = next_scope_level();
  std::int64_t size_ = -1;
  std::vector<Tensor> hidden_;
};

}  // namespace lamella::autograd
