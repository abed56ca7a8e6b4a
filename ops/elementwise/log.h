#pragma once

#include "ops/elementwise/elementwise.h"

namespace lamella {

struct Log : Unary<Log> {
  static constexpr OpInfo info{.name = "log",
                               .doc = "The natural logarithm; NaN below 0.",
                               .reference = "np.log(x)",
                               .dtypes = Floating | Complex,
                               .sample_low = 0.05,
                               .sample_high = 4.0,
                               .autocast = Autocast::Float32};
  static constexpr bool kTakesLong = true;
  template <class X>
  LM_HD static constexpr auto forward(const X& x) {
    return log(x);
  }
  template <class X>
  LM_HD static constexpr X backward(const X& x, const X&, const X& dy) {
    return dy / x;
  }
};

struct Log1p : Unary<Log1p> {
  static constexpr OpInfo info{.name = "log1p",
                               .doc = "log(1 + x), accurate near 0.",
                               .reference = "np.log1p(x)",
                               .dtypes = Floating | Complex,
                               .sample_low = -0.9,
                               .sample_high = 4.0,
                               .autocast = Autocast::Float32};
  static constexpr bool kTakesLong = true;
  template <class X>
  LM_HD static constexpr auto forward(const X& x) {
    return log1p(x);
  }
  template <class X>
  LM_HD static constexpr X backward(const X& x, const X&, const X& dy) {
    return dy / (1 + x);
  }
};

struct Log2 : Unary<Log2> {
  static constexpr OpInfo info{.name = "log2",
                               .doc = "The logarithm to base 2.",
                               .reference = "np.log2(x)",
                               .dtypes = Floating | Complex,
                               .sample_low = 0.05,
                               .sample_high = 4.0,
                               .autocast = Autocast::Float32};
  static constexpr bool kTakesLong = true;
  template <class X>
  LM_HD static constexpr auto forward(const X& x) {
    return log2(x);
  }
  template <class X>
  LM_HD static constexpr X backward(const X& x, const X&, const X& dy) {
    return 1.44269504088896340736 * dy / x;
  }
};

struct Log10 : Unary<Log10> {
  static constexpr OpInfo info{.name = "log10",
                               .doc = "The logarithm to base 10.",
                               .reference = "np.log10(x)",
                               .dtypes = Floating | Complex,
                               .sample_low = 0.05,
                               .sample_high = 4.0,
                               .autocast = Autocast::Float32};
  static constexpr bool kTakesLong = true;
  template <class X>
  LM_HD static constexpr auto forward(const X& x) {
    return log10(x);
  }
  template <class X>
  LM_HD static constexpr X backward(const X& x, const X&, const X& dy) {
    return 0.43429448190325182765 * dy / x;
  }
};

inline Tensor log(const Tensor& x) { return Log::call(x); }
inline Tensor log1p(const Tensor& x) { return Log1p::call(x); }
inline Tensor log2(const Tensor& x) { return Log2::call(x); }
inline Tensor log10(const Tensor& x) { return Log10::call(x); }

}  // namespace lamella
