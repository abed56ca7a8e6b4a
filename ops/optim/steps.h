#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "engine/core/tensor.h"

namespace lamella::optim {

struct SgdOptions {
  double lr = 1e-3;
  double momentum = 0;
  double dampening = 0;
  double weight_decay = 0;
  bool nesterov = false;
  bool maximize = false;
  bool first = false;  ///< true if the velocities are uninitialized: they become the gradients
};

/// A tensor to train, of any floating dtype on any device, with its gradient and state, which have its shape.
struct SgdTarget {
  Tensor parameter;
  Tensor gradient;
  Tensor velocity;  ///< undefined without momentum

  /// Returns the tensors that the step writes besides the parameter.
  std::array<const Tensor*, 1> state() const { return {&velocity}; }
};

/// Performs a step of stochastic gradient descent, in place and off the tape. With gradient g (negated if `maximize`),
/// parameter p and velocity v:
///
///     g = g + weight_decay * p
///     v = momentum * v + (1 - dampening) * g        (v = g in the first step)
///     g = g + momentum * v  if nesterov, else v
///     p = p - lr * g
///
/// Source: Sutskever et al. 2013, "On the importance of initialization and momentum in deep learning"; the velocity
/// here is theirs divided by the learning rate, as in PyTorch, so that a new rate takes effect at once.
/// Throws ValueError if shapes differ, RuntimeError if devices differ or a tensor cannot be written to; no tensor has
/// changed then.
void sgd_step(std::span<const SgdTarget> targets, const SgdOptions& options);

struct AdamOptions {
  std::int64_t step = 1;  ///< counted from 1
  double lr = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0;
  bool decoupled = false;
  bool maximize = false;
};

struct AdamTarget {
  Tensor parameter;
  Tensor gradient;
  Tensor mean;
  Tensor square;
  Tensor largest;  ///< undefined without amsgrad

  /// Returns the tensors that the step writes besides the parameter.
  std::array<const Tensor*, 3> state() const { return {&mean, &square, &largest}; }
};

/// Performs a step of Adam, in place and off the tape. With gradient g (negated if `maximize`), parameter p and step t:
///
///     g = g + weight_decay * p                      (p = p - lr * weight_decay * p  if decoupled)
///     m = beta1 * m + (1 - beta1) * g
///     v = beta2 * v + (1 - beta2) * g * g
///     w = max(w, v)  if `largest` is defined, else v
///     p = p - lr / (1 - beta1 ** t) * m / (sqrt(w) / sqrt(1 - beta2 ** t) + eps)
///
/// Sources: Kingma & Ba 2015, "Adam: a method for stochastic optimization", algorithm 1; Reddi et al. 2018, "On the
/// convergence of Adam and beyond" (the maximum is taken before the bias correction, as in PyTorch); Loshchilov &
/// Hutter 2019, "Decoupled weight decay regularization", algorithm 2. Throws as sgd_step() does.
void adam_step(std::span<const AdamTarget> targets, const AdamOptions& options);

}  // namespace lamella::optim
