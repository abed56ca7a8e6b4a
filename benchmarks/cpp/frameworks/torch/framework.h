// Implements the interface of workloads.h with libtorch.

#pragma once

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include <cstdint>
#include <vector>

namespace framework {

using at::add;
using at::matmul;
using at::Tensor;

/// Returns a leaf of `rows` x `columns`: first, first + step, first + 2 * step, ...
inline Tensor leaf(std::int64_t rows, std::int64_t columns, double first, double step, bool wants_gradient = false) {
  const Tensor numbers = at::arange(rows * columns, at::TensorOptions(at::kFloat));
  Tensor x = (numbers * step + first).reshape({rows, columns});
  x.requires_grad_(wants_gradient);
  return x;
}

inline Tensor reshape(const Tensor& x, std::int64_t rows, std::int64_t columns) { return x.reshape({rows, columns}); }
inline Tensor sum(const Tensor& x) { return at::sum(x); }

inline void backward(const Tensor& y, const Tensor& dy) { y.backward(dy); }
inline Tensor gradient(const Tensor& x) { return x.grad(); }
inline void clear_gradient(const Tensor& x) { x.mutable_grad().reset(); }

/// Returns all elements of a contiguous tensor.
inline std::vector<float> values(const Tensor& x) {
  return {x.const_data_ptr<float>(), x.const_data_ptr<float>() + x.numel()};
}

/// Layer that returns its input.
struct Identity : torch::autograd::Function<Identity> {
  static Tensor forward(torch::autograd::AutogradContext*, const Tensor& x) { return x; }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext*,
                                                 const torch::autograd::variable_list& dy) {
    return dy;
  }
};

/// Layer of tanh, composed of operators.
struct Tanh : torch::autograd::Function<Tanh> {
  static Tensor forward(torch::autograd::AutogradContext* ctx, const Tensor& x) {
    Tensor y = at::tanh(x);
    ctx->save_for_backward({y});
    return y;
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* ctx,
                                                 const torch::autograd::variable_list& dy) {
    const Tensor y = ctx->get_saved_variables()[0];
    return {dy[0] * (1 - at::square(y))};
  }
};

}  // namespace framework
