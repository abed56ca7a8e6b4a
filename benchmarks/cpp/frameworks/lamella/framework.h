// Implements the interface of workloads.h with Lamella.

#pragma once

#include <lamella/lamella.h>

#include <cstdint>
#include <vector>

namespace framework {

using lamella::add;
using lamella::matmul;
using lamella::Tensor;

/// Returns a leaf of `rows` x `columns`: first, first + step, first + 2 * step, ...
inline Tensor leaf(std::int64_t rows, std::int64_t columns, double first, double step, bool wants_gradient = false) {
  const Tensor numbers = lamella::arange(0, rows * columns, 1, lamella::DType::Float32);
  Tensor x = lamella::reshape(numbers * step + first, {rows, columns});
  x.set_requires_grad(wants_gradient);
  return x;
}

inline Tensor reshape(const Tensor& x, std::int64_t rows, std::int64_t columns) {
  return lamella::reshape(x, {rows, columns});
}
inline Tensor sum(const Tensor& x) { return lamella::sum(x); }

inline void backward(const Tensor& y, const Tensor& dy) { lamella::autograd::backward(y, dy); }
inline Tensor gradient(const Tensor& x) { return x.grad(); }
inline void clear_gradient(const Tensor& x) { x.set_grad({}); }

/// Returns all elements of a contiguous tensor.
inline std::vector<float> values(const Tensor& x) { return {x.data<float>(), x.data<float>() + x.numel()}; }

/// Layer that returns its input.
struct Identity : lamella::Function<Identity> {
  static Tensor forward(lamella::Context&, const Tensor& x) { return x; }
  static Tensor backward(lamella::Context&, const Tensor& dy) { return dy; }
};

/// Layer of tanh, composed of operators.
struct Tanh : lamella::Function<Tanh> {
  static Tensor forward(lamella::Context& ctx, const Tensor& x) {
    Tensor y = lamella::tanh(x);
    ctx.save_for_backward(y);
    return y;
  }
  static Tensor backward(lamella::Context& ctx, const Tensor& dy) {
    const auto [y] = ctx.saved_tensors<1>();
    return dy * (1 - lamella::square(y));
  }
};

}  // namespace framework
