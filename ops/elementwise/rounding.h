#pragma once

#include "ops/elementwise/elementwise.h"

namespace lamella {

struct Floor : Unary<Floor> {
  static constexpr OpInfo info{.name = "floor",
                               .doc = "The largest integer that is not larger. Its gradient is 0.",
                               .example = "floor(full([2], 1.5))",
                               .reference = "np.floor(x)",
                               .dtypes = Real};
  template <class X>
  LM_HD static constexpr auto forward(const X& x) {
    return floor(x);
  }
  template <class X>
  LM_HD static constexpr X backward(const X&, const X&, const X& dy) {
    return 0 * dy;
  }
};

struct Ceil : Unary<Ceil> {
  static constexpr OpInfo info{.name = "ceil",
                               .doc = "The smallest integer that is not smaller. Its gradient is 0.",
                               .example = "ceil(full([2], 1.5))",
                               .reference = "np.ceil(x)",
                               .dtypes = Real};
  template <class X>
  LM_HD static constexpr auto forward(const X& x) {
    return ceil(x);
  }
  template <class X>
  LM_HD static constexpr X backward(const X&, const X&, const X& dy) {
    return 0 * dy;
  }
};

struct Trunc : Unary<Trunc> {
  static constexpr OpInfo info{.name = "trunc",
                               .doc = "x without its fraction. Its gradient is 0.",
                               .example = "trunc(full([2], 1.5))",
                               .reference = "np.trunc(x)",
                               .dtypes = Real};
  template <class X>
  LM_HD static constexpr auto forward(const X& x) {
    return trunc(x);
  }
  template <class X>
  LM_HD static constexpr X backward(const X&, const X&, const X& dy) {
    return 0 * dy;
  }
};

struct Round : Unary<Round> {
  static constexpr OpInfo info{
      .name = "round",
      .doc =
          "The nearest integer, halves to the even one; of both parts of a complex number. With `decimals`, the "
          "nearest "
          "multiple of 10 ** -decimals, found by rounding x * 10 ** decimals. Its gradient is 0.",
      .parameters = "x, /, decimals=0",
      .example = "round(full([2], 1.5))",
      .reference = "np.round(x)",
      .dtypes = Numeric};
  static Tensor call(const Tensor& x, std::int64_t decimals);
  /// True if the kernel applies: it rounds to integers only.
  static bool in_kernel(const Tensor&, std::int64_t decimals) { return decimals == 0; }
  template <class X>
  LM_HD static constexpr auto forward(const X& x) {
    return round(x);
  }
  template <class X>
  LM_HD static constexpr X backward(const X&, const X&, const X& dy) {
    return 0 * dy;
  }
};

inline Tensor floor(const Tensor& x) { return Floor::call(x); }
inline Tensor ceil(const Tensor& x) { return Ceil::call(x); }
inline Tensor trunc(const Tensor& x) { return Trunc::call(x); }
inline Tensor round(const Tensor& x, std::int64_t decimals = 0) { return Round::call(x, decimals); }

}  // namespace lamella
