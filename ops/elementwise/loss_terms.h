#pragma once

#include "ops/elementwise/abs.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/extrema.h"
#include "ops/elementwise/log.h"
#include "ops/elementwise/where.h"

// The elementwise terms that the losses of ops/nn sum.

namespace lamella {

struct SquaredDifference : Binary<SquaredDifference> {
  static constexpr bool kShortFormula = true;
  static constexpr OpInfo info{.name = "squared_difference",
                               .doc = "(a - b) squared, the terms of mse_loss.",
                               .example = "squared_difference(full([2], 1.0), full([2], 3.0))",
                               .reference = "(a - b) ** 2",
                               .dtypes = Floating,
                               .method = false};
  template <class X>
  LM_HD static constexpr X forward(const X& a, const X& b) {
    const X d = a - b;
    return d * d;
  }
  template <class X>
  LM_HD static constexpr X backward(Wrt<0>, const X& a, const X& b, const X&, const X& dy) {
    return 2 * (a - b) * dy;
  }
  template <class X>
  LM_HD static constexpr X backward(Wrt<1>, const X& a, const X& b, const X&, const X& dy) {
    return 2 * (b - a) * dy;
  }
};

/// Uses the square of d rather than |d|, so that the second derivative is right at 0 too.
struct SmoothL1 : Ternary<SmoothL1> {
  static constexpr OpInfo info{
      .name = "smooth_l1",
      .doc =
          "d * d / (2 * beta) where d = input - target is below beta in magnitude, |d| - beta / 2 elsewhere: the terms "
          "of smooth_l1_loss and huber_loss. beta, above 0, is a constant to derivatives.",
      .parameters = "input, target, beta, /",
      .example = "smooth_l1(full([2], 1.0), full([2], 3.0), 1.0)",
      .reference =
          "np.where(np.abs(input - target) < beta, 0.5 * (input - target) ** 2 / beta, "
          "np.abs(input - target) - 0.5 * beta)",
      .dtypes = Floating,
      .method = false,
      .settings = {{2, 1.25}}};
  template <class X>
  LM_HD static constexpr X forward(const X& input, const X& target, const X& beta) {
    const X d = input - target;
    return where(abs(d) < beta, 0.5 * d * d / beta, abs(d) - 0.5 * beta);
  }
  template <class X>
  LM_HD static constexpr X backward(Wrt<0>, const X& input, const X& target, const X& beta, const X&, const X& dy) {
    const X d = input - target;
    return where(abs(d) < beta, d / beta, sign(d)) * dy;
  }
  template <class X>
  LM_HD static constexpr X backward(Wrt<1>, const X& input, const X& target, const X& beta, const X&, const X& dy) {
    const X d = target - input;
    return where(abs(d) < beta, d / beta, sign(d)) * dy;
  }
};

struct LogLoss : Binary<LogLoss> {
  static constexpr OpInfo info{
      .name = "log_loss",
      .doc =
          "-(target * log(input) + (1 - target) * log(1 - input)), with logarithms not below -100: the terms of "
          "binary_cross_entropy.",
      .parameters = "input, target, /",
      .example = "log_loss(full([2], 0.25), ones([2]))",
      .reference = "-(target * np.maximum(np.log(input), -100) + (1 - target) * np.maximum(np.log1p(-input), -100))",
      .dtypes = Floating,
      .sample_low = 0.05,
      .sample_high = 0.95,
      .method = false};
  static constexpr bool kTakesLong = true;
  template <class X>
  LM_HD static constexpr X forward(const X& input, const X& target) {
    return -(target * maximum(log(input), -100) + (1 - target) * maximum(log1p(-input), -100));
  }
  template <class X>
  LM_HD static constexpr X backward(Wrt<0>, const X& input, const X& target, const X&, const X& dy) {
    return dy * (input - target) / maximum((1 - input) * input, 1e-12);
  }
  template <class X>
  LM_HD static constexpr X backward(Wrt<1>, const X& input, const X&, const X&, const X& dy) {
    return dy * (maximum(log1p(-input), -100) - maximum(log(input), -100));
  }
};

inline Tensor squared_difference(const Operand& a, const Operand& b) { return SquaredDifference::call(a, b); }
inline Tensor smooth_l1(const Tensor& input, const Tensor& target, const Operand& beta) {
  return SmoothL1::call(input, target, beta);
}
inline Tensor log_loss(const Tensor& input, const Tensor& target) { return LogLoss::call(input, target); }

}  // namespace lamella
