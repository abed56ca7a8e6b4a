#pragma once

// Formulas of optimizers' steps. A formula is a struct of the step's numbers, in the order in which Python passes them,
// and `step`, which changes a parameter and its state along a gradient. The template serves kernels and composed code:
// X is a vector with numbers S of its elements' type, or a Tensor with S = double. Papers: the classes of
// python/lamella/optim.

#include <array>
#include <bit>
#include <cstddef>
#include <utility>

#include "ops/simd/hd.h"

namespace lamella::optim {

/// A number of a formula that is 1 or 0.
template <class S>
struct Flag {
  S value;
  LM_HD constexpr explicit operator bool() const { return value != 0; }
};

/// Numbers of a step that all formulas share.
template <class S>
struct Shared {
  S weight_decay;  ///< factor of the L2 penalty
  S shrink;        ///< factor of the parameter: 1 - lr * weight_decay if the decay is decoupled, else 1
  bool maximize;
};

/// Stochastic gradient descent. In the first step of a velocity, momentum is 0 and kept 1.
template <class S>
struct Sgd {
  static constexpr const char* kName = "sgd_step";
  static constexpr std::size_t kStates = 1;  // velocity: undefined without momentum

  S rate;
  S momentum;
  S kept;   ///< 1 - dampening
  S ahead;  ///< the momentum, also in the first step
  Flag<S> has_velocity;
  Flag<S> nesterov;

  template <class X>
  LM_HD void step(X& p, const X& g, X& velocity) const {
    if (!has_velocity) {
      p = p - g * rate;
      return;
    }
    velocity = velocity * momentum + g * kept;
    p = p - (nesterov ? X(g + velocity * ahead) : velocity) * rate;
  }
};

/// Adam and AdamW.
template <class S>
struct Adam {
  static constexpr const char* kName = "adam_step";
  static constexpr std::size_t kStates = 3;  // mean, square, largest: the last undefined without amsgrad

  S rate;  ///< lr / (1 - beta1 ** step)
  S beta1;
  S kept1;  ///< 1 - beta1
  S beta2;
  S kept2;  ///< 1 - beta2
  S root;   ///< sqrt(1 - beta2 ** step)
  S eps;
  Flag<S> amsgrad;

  template <class X>
  LM_HD void step(X& p, const X& g, X& mean, X& square, X& largest) const {
    mean = mean * beta1 + g * kept1;
    square = square * beta2 + g * g * kept2;
    if (amsgrad) largest = maximum(largest, square);
    p = p - mean / (sqrt(amsgrad ? largest : square) / root + eps) * rate;
  }
};

template <class S>
struct Adamax {
  static constexpr const char* kName = "adamax_step";
  static constexpr std::size_t kStates = 2;  // mean, largest

  S rate;  ///< lr / (1 - beta1 ** step)
  S beta1;
  S kept1;  ///< 1 - beta1
  S beta2;
  S eps;

  template <class X>
  LM_HD void step(X& p, const X& g, X& mean, X& largest) const {
    mean = mean * beta1 + g * kept1;
    largest = maximum(largest * beta2, abs(g) + eps);
    p = p - mean / largest * rate;
  }
};

template <class S>
struct NAdam {
  static constexpr const char* kName = "nadam_step";
  static constexpr std::size_t kStates = 2;  // mean, square

  S rate_of_gradient;  ///< lr * (1 - mu) / (1 - product of all mu)
  S rate_of_mean;      ///< lr * next mu / (1 - product of all mu and the next)
  S beta1;
  S kept1;  ///< 1 - beta1
  S beta2;
  S kept2;  ///< 1 - beta2
  S root;   ///< sqrt(1 - beta2 ** step)
  S eps;

  template <class X>
  LM_HD void step(X& p, const X& g, X& mean, X& square) const {
    mean = mean * beta1 + g * kept1;
    square = square * beta2 + g * g * kept2;
    p = p - (g * rate_of_gradient + mean * rate_of_mean) / (sqrt(square) / root + eps);
  }
};

template <class S>
struct RAdam {
  static constexpr const char* kName = "radam_step";
  static constexpr std::size_t kStates = 2;  // mean, square

  S rate;  ///< lr / (1 - beta1 ** step), times the rectification
  S beta1;
  S kept1;  ///< 1 - beta1
  S beta2;
  S kept2;  ///< 1 - beta2
  S root;   ///< sqrt(1 - beta2 ** step)
  S eps;
  Flag<S> is_rectified;  ///< false while the variance of the squares' mean is unknown

  template <class X>
  LM_HD void step(X& p, const X& g, X& mean, X& square) const {
    mean = mean * beta1 + g * kept1;
    square = square * beta2 + g * g * kept2;
    p = p - (is_rectified ? X(mean * root / (sqrt(square) + eps)) : mean) * rate;
  }
};

template <class S>
struct Adagrad {
  static constexpr const char* kName = "adagrad_step";
  static constexpr std::size_t kStates = 1;  // sum of squares

  S rate;  ///< lr / (1 + (step - 1) * lr_decay)
  S eps;

  template <class X>
  LM_HD void step(X& p, const X& g, X& sum) const {
    sum = sum + g * g;
    p = p - g / (sqrt(sum) + eps) * rate;
  }
};

template <class S>
struct Adadelta {
  static constexpr const char* kName = "adadelta_step";
  static constexpr std::size_t kStates = 2;  // square of gradients, square of changes

  S rate;
  S rho;
  S kept;  ///< 1 - rho
  S eps;

  template <class X>
  LM_HD void step(X& p, const X& g, X& square, X& change) const {
    square = square * rho + g * g * kept;
    const X delta = sqrt(change + eps) / sqrt(square + eps) * g;
    change = change * rho + delta * delta * kept;
    p = p - delta * rate;
  }
};

template <class S>
struct RMSprop {
  static constexpr const char* kName = "rmsprop_step";
  static constexpr std::size_t kStates = 3;  // square, mean (undefined unless centered), velocity (or undefined)

  S rate;
  S alpha;
  S kept;  ///< 1 - alpha
  S eps;
  S momentum;
  Flag<S> centered;
  Flag<S> has_velocity;

  template <class X>
  LM_HD void step(X& p, const X& g, X& square, X& mean, X& velocity) const {
    square = square * alpha + g * g * kept;
    if (centered) mean = mean * alpha + g * kept;
    const X scaled = g / (sqrt(centered ? X(maximum(square - mean * mean, 0)) : square) + eps);
    if (has_velocity) velocity = velocity * momentum + scaled;
    p = p - (has_velocity ? velocity : scaled) * rate;
  }
};

template <class S>
struct Rprop {
  static constexpr const char* kName = "rprop_step";
  static constexpr std::size_t kStates = 2;  // previous gradient, size of steps

  S fall;
  S rise;
  S low;
  S high;

  template <class X>
  LM_HD void step(X& p, const X& g, X& previous, X& size) const {
    const X agreement = g * previous;
    const X scaled = where(agreement > 0, size * rise, where(agreement < 0, size * fall, size));
    size = minimum(maximum(scaled, low), high);
    previous = where(agreement < 0, 0, g);
    p = p - sign(previous) * size;
  }
};

template <class S>
struct Asgd {
  static constexpr const char* kName = "asgd_step";
  static constexpr std::size_t kStates = 1;  // average

  S rate;    ///< lr / (1 + lambd * lr * (step - 1)) ** alpha
  S shrink;  ///< 1 - lambd * rate
  S part;    ///< 1 / max(1, step - 1 - t0)

  template <class X>
  LM_HD void step(X& p, const X& g, X& average) const {
    p = p * shrink - g * rate;
    average = part == 1 ? p : X(average + (p - average) * part);
  }
};

template <class S>
struct Lion {
  static constexpr const char* kName = "lion_step";
  static constexpr std::size_t kStates = 1;  // mean

  S rate;
  S beta1;
  S kept1;  ///< 1 - beta1
  S beta2;
  S kept2;  ///< 1 - beta2

  template <class X>
  LM_HD void step(X& p, const X& g, X& mean) const {
    p = p - sign(mean * beta1 + g * kept1) * rate;
    mean = mean * beta2 + g * kept2;
  }
};

/// A running average, as the parameter, of tensors that come as gradients.
template <class S>
struct Average {
  static constexpr const char* kName = "average_step";
  static constexpr std::size_t kStates = 0;

  S part;  ///< weight of the new tensor

  template <class X>
  LM_HD void step(X& average, const X& value) const {
    average = average + (value - average) * part;
  }
};

template <template <class> class... F>
struct FormulaList {};

/// All formulas: a new one is added here and nowhere else in C++.
using Formulas = FormulaList<Sgd, Adam, Adamax, NAdam, RAdam, Adagrad, Adadelta, RMSprop, Rprop, Asgd, Lion, Average>;

template <class F, class S>
inline constexpr std::size_t kNumbers = sizeof(F) / sizeof(S);

/// Returns a formula F with numbers of type S, which `numbers` holds in the order of F's members.
template <class F, class S>
F formula_of(const double* numbers) {
  std::array<S, kNumbers<F, S>> values;
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<S>(numbers[i]);
  return std::bit_cast<F>(values);
}

template <class S>
Shared<S> shared_of(const Shared<double>& shared) {
  return {static_cast<S>(shared.weight_decay), static_cast<S>(shared.shrink), shared.maximize};
}

/// Performs a step of a parameter and its state.
template <class F, class S, class X>
LM_HD void advance(const F& formula, const Shared<S>& shared, X& parameter, X gradient,
                   std::array<X, F::kStates>& states) {
  if (shared.maximize) gradient = -gradient;
  if (shared.weight_decay != 0) gradient = gradient + parameter * shared.weight_decay;
  if (shared.shrink != 1) parameter = parameter * shared.shrink;
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    formula.step(parameter, gradient, states[I]...);
  }(std::make_index_sequence<F::kStates>());
}

}  // namespace lamella::optim
