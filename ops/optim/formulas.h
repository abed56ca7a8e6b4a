#pragma once

// Formulas of optimizer steps, shared by kernels and composed code: X is a vector with numbers S of its elements' type,
// or a Tensor with S = double. Names and sources: ops/optim/steps.h.

namespace lamella::optim {

template <class S>
struct SgdNumbers {
  S rate;
  S momentum;
  S kept;  ///< 1 - dampening
  S weight_decay;
  bool nesterov;
  bool maximize;
  bool first;
};

template <class S>
struct AdamNumbers {
  S rate;  ///< lr / (1 - beta1 ** step)
  S beta1;
  S kept1;  ///< 1 - beta1
  S beta2;
  S kept2;  ///< 1 - beta2
  S root;   ///< sqrt(1 - beta2 ** step)
  S eps;
  S weight_decay;
  S shrink;  ///< 1 - lr * weight_decay if the decay is decoupled, else 1
  bool maximize;
};

/// Returns the gradient with its sign for `maximize` and the weight decay applied.
template <class X, class Numbers>
X penalized(const Numbers& numbers, const X& parameter, X gradient) {
  if (numbers.maximize) gradient = -gradient;
  if (numbers.weight_decay != 0) gradient = gradient + parameter * numbers.weight_decay;
  return gradient;
}

/// Returns the velocity after a step along a penalized gradient.
template <class X, class S>
X next_velocity(const SgdNumbers<S>& numbers, const X& gradient, const X& velocity) {
  return numbers.first ? gradient : X(velocity * numbers.momentum + gradient * numbers.kept);
}

/// Returns the amount subtracted from a parameter in a step of SGD with momentum.
template <class X, class S>
X sgd_step(const SgdNumbers<S>& numbers, const X& gradient, const X& velocity) {
  return (numbers.nesterov ? X(gradient + velocity * numbers.momentum) : velocity) * numbers.rate;
}

template <class X, class S>
X next_mean(const AdamNumbers<S>& numbers, const X& gradient, const X& mean) {
  return mean * numbers.beta1 + gradient * numbers.kept1;
}

template <class X, class S>
X next_square(const AdamNumbers<S>& numbers, const X& gradient, const X& square) {
  return square * numbers.beta2 + gradient * gradient * numbers.kept2;
}

/// Returns the amount subtracted from a parameter in a step of Adam.
template <class X, class S>
X adam_step(const AdamNumbers<S>& numbers, const X& mean, const X& square) {
  return mean / (sqrt(square) / numbers.root + numbers.eps) * numbers.rate;
}

}  // namespace lamella::optim
