#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "engine/autograd/backward/backward.h"
#include "engine/core/modes.h"
#include "ops/creation/creation.h"
#include "ops/elementwise/list.h"
#include "ops/movement/cast.h"
#include "ops/reduce/sum.h"
#include "ops/transforms/gradcheck.h"
#include "tests/cpp/tensors.h"

namespace lamella::testing {

/// Function of float64 tensors, composed of recorded operators.
using DifferentiableFunction = std::function<Tensor(const std::vector<Tensor>&)>;

/// Checks the gradients of f at float64 inputs against central differences; with `second`, also those of its gradient.
inline void expect_gradients(const DifferentiableFunction& f, const std::vector<Tensor>& inputs, bool second = true,
                             double tolerance = 1e-6) {
  std::vector<Tensor> leaves;
  for (const Tensor& x : inputs) leaves.push_back(clone(x).set_requires_grad(true));
  const autograd::TensorFunction function = [&f](std::span<const Tensor> args) {
    return std::vector<Tensor>{f({args.begin(), args.end()})};
  };
  autograd::GradcheckOptions options;
  options.eps = 1e-5;
  options.atol = options.rtol = tolerance;
  if (const auto result = autograd::gradcheck(function, leaves, options); !result) ADD_FAILURE() << result.message;
  if (!second) return;
  options.atol = options.rtol = 10 * tolerance;
  if (const auto result = autograd::gradgradcheck(function, leaves, {}, options); !result) {
    ADD_FAILURE() << result.message;
  }
}

}  // namespace lamella::testing
