#pragma once

#include "ops/elementwise/abs.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/sigmoid.h"
#include "ops/elementwise/slopes.h"
#include "ops/elementwise/square.h"
#include "ops/elementwise/where.h"

namespace lamella {

struct Softplus : Ternary<Softplus> {
  static constexpr OpInfo info{
      .name = "softplus",
      .doc =
          "log(1 + exp(beta * x)) / beta, and x itself where beta * x is above the threshold. beta and threshold are "
          "constants to derivatives.",
      .parameters = "x, /, beta=1.0, threshold=20.0",
      .reference = "np.where(beta * x > threshold, x, np.logaddexp(0, beta * x) / beta)",
      .dtypes = Floating,
      .method = false,
      .settings = {{1, 1.3}, {2, 2.2}}};
  static constexpr bool kTakesLong = true;
  // The exponential of -|z| does not overflow.
  template <class X>
  LM_HD static constexpr X forward(const X& x, const X& beta, const X& threshold) {
    const X z = beta * x;
    return where(z > threshold, x, (maximum(z, 0) + log1p(exp(-abs(z)))) / beta);
  }
  template <class X>
  LM_HD static constexpr X backward(Wrt<0>, const X& x, const X& beta, const X& threshold, const X&, const X& dy) {
    const X z = beta * x;
    return where(z > threshold, dy, dy * sigmoid(z));
  }
};

struct LogSigmoid : Unary<LogSigmoid> {
  static constexpr OpInfo info{.name = "log_sigmoid",
                               .doc = "The logarithm of sigmoid, without its rounding to 0.",
                               .reference = "sp.log_expit(x)",
                               .dtypes = Floating,
                               .method = false};
  static constexpr bool kTakesLong = true;
  template <class X>
  LM_HD static constexpr X forward(const X& x) {
    return minimum(x, 0) - log1p(exp(-abs(x)));
  }
  template <class X>
  LM_HD static constexpr X backward(const X& x, const X&, const X& dy) {
    return dy * sigmoid(-x);
  }
};

struct Softsign : Unary<Softsign> {
  static constexpr OpInfo info{.name = "softsign",
                               .doc = "x / (1 + |x|).",
                               .reference = "x / (1 + np.abs(x))",
                               .dtypes = Floating,
                               .kinks = {0.0, __builtin_nan("")},
                               .method = false};
  template <class X>
  LM_HD static constexpr X forward(const X& x) {
    const X bounded = detail::within(x, 1e30);  // infinity divided by infinity is NaN
    return bounded / (1 + abs(bounded));
  }
  template <class X>
  LM_HD static constexpr X backward(const X& x, const X&, const X& dy) {
    const X share = 1 / (1 + abs(x));
    return dy * share * share;
  }
  /// Composed for complex numbers.
  static Tensor call(const Tensor& x);
};

inline Tensor softplus(const Tensor& x, const Operand& beta = 1.0, const Operand& threshold = 20.0) {
  return Softplus::call(x, beta, threshold);
}
inline Tensor log_sigmoid(const Tensor& x) { return LogSigmoid::call(x); }
inline Tensor softsign(const Tensor& x) { return Softsign::call(x); }

}  // namespace lamella
