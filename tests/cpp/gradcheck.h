#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

#include "engine/autograd/backward.h"
#include "engine/autograd/modes.h"
#include "ops/creation/creation.h"
#include "ops/elementwise/list.h"
#include "ops/movement/cast.h"
#include "ops/reduce/sum.h"
#include "tests/cpp/tensors.h"

namespace lamella::testing {

/// A function of float64 tensors, made of recorded operators.
using DifferentiableFunction = std::function<Tensor(const std::vector<Tensor>&)>;

namespace detail {

/// The sum of y's elements with unequal weights, so that no two of them can be mistaken for each other.
inline Tensor weighted_sum(const Tensor& y) {
  std::vector<double> weights;
  for (std::int64_t i = 0; i < y.numel(); ++i) weights.push_back(std::cos(1.0 + 2.0 * static_cast<double>(i)));
  return sum(multiply(y, tensor_of(weights, y.shape())));
}

inline double value_at(const DifferentiableFunction& f, const std::vector<Tensor>& inputs) {
  const autograd::NoGrad no_grad;
  return weighted_sum(f(inputs)).data<double>()[0];
}

inline void expect_first_order(const DifferentiableFunction& f, const std::vector<Tensor>& inputs, double tolerance,
                               const char* order) {
  std::vector<Tensor> leaves;
  for (const Tensor& x : inputs) leaves.push_back(clone(x).set_requires_grad(true));
  const Tensor y = f(leaves);
  std::vector<Tensor> grads(leaves.size());
  // What does not depend on the inputs has no gradient: the differences must be zero, too.
  if (y.requires_grad()) {
    const Tensor total = weighted_sum(y);
    grads = autograd::grad(std::span(&total, 1), leaves, {}, {.allow_unused = true});
  }
  constexpr double kStep = 1e-5;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (grads[i].defined()) {
      EXPECT_EQ(grads[i].shape(), inputs[i].shape()) << order;
    }
    const std::vector<double> found = grads[i].defined()
                                          ? values<double>(grads[i])
                                          : std::vector<double>(static_cast<std::size_t>(inputs[i].numel()));
    for (std::int64_t k = 0; k < inputs[i].numel(); ++k) {
      std::vector<Tensor> moved;
      for (const Tensor& x : inputs) moved.push_back(clone(x));
      double& element = moved[i].data<double>()[k];
      const double before = element;
      element = before + kStep;
      const double above = value_at(f, moved);
      element = before - kStep;
      const double below = value_at(f, moved);
      const double expected = (above - below) / (2 * kStep);
      EXPECT_NEAR(found[static_cast<std::size_t>(k)], expected, tolerance * std::max(1.0, std::abs(expected)))
          << order << " derivative with respect to element " << k << " of input " << i;
    }
  }
}

}  // namespace detail

/// Checks the gradients of f at float64 inputs against central differences, and, where `second` is set, those of its
/// gradient.
inline void expect_gradients(const DifferentiableFunction& f, const std::vector<Tensor>& inputs, bool second = true,
                             double tolerance = 1e-6) {
  detail::expect_first_order(f, inputs, tolerance, "first");
  if (!second) return;
  const DifferentiableFunction gradient = [&](const std::vector<Tensor>& leaves) {
    const autograd::EnableGrad enable_grad;
    std::vector<Tensor> own;
    for (const Tensor& x : leaves) own.push_back(x.requires_grad() ? x : clone(x).set_requires_grad(true));
    const Tensor y = f(own);
    Tensor total = zeros({}, DType::Float64);
    if (!y.requires_grad()) return total;
    const Tensor value = detail::weighted_sum(multiply(y, y));
    const auto grads = autograd::grad(std::span(&value, 1), own, {}, {.create_graph = true, .allow_unused = true});
    for (const Tensor& g : grads) {
      if (g.defined()) total = add(total, detail::weighted_sum(g));
    }
    return total;
  };
  detail::expect_first_order(gradient, inputs, tolerance * 10, "second");
}

}  // namespace lamella::testing
