#pragma once

#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/where.h"

namespace lamella {

struct IsNan : Unary<IsNan> {
  static constexpr OpInfo info{
      .name = "isnan", .doc = "True where x is NaN.", .reference = "np.isnan(x)", .dtypes = AnyDType};
  template <class X>
  LM_HD static constexpr auto forward(const X& x) {
    return isnan(x);
  }
};

struct IsInf : Unary<IsInf> {
  static constexpr OpInfo info{
      .name = "isinf", .doc = "True where x is infinite.", .reference = "np.isinf(x)", .dtypes = AnyDType};
  template <class X>
  LM_HD static constexpr auto forward(const X& x) {
    return isinf(x);
  }
};

struct IsFinite : Unary<IsFinite> {
  static constexpr OpInfo info{.name = "isfinite",
                               .doc = "True where x is neither NaN nor infinite.",
                               .reference = "np.isfinite(x)",
                               .dtypes = AnyDType};
  template <class X>
  LM_HD static constexpr auto forward(const X& x) {
    return isfinite(x);
  }
};

/// The kernel behind `nan_to_num`.
struct ReplaceNonfinite : Ternary<ReplaceNonfinite> {
  static constexpr OpInfo info{
      .name = "replace_nonfinite",
      .doc =
          "x with NaN replaced by `nan`, and infinities by `largest` with their sign. Replaced elements get no "
          "gradient; `nan` and `largest` are constants to derivatives.",
      .parameters = "x, nan, largest, /",
      .example = "replace_nonfinite(full([2], float('nan')), 0.0, 1e6)",
      .reference = "np.where(np.isnan(x), nan, np.where(np.isinf(x), np.copysign(largest, x), x))",
      .dtypes = Floating,
      .method = false,
      .settings = {{1, 0.5}, {2, 9.0}}};
  template <class X>
  LM_HD static constexpr X forward(const X& x, const X& nan, const X& largest) {
    return where(isnan(x), nan, where(isinf(x), copysign(largest, x), x));
  }
  template <class X>
  LM_HD static constexpr X backward(Wrt<0>, const X& x, const X&, const X&, const X&, const X& dy) {
    return where(isfinite(x), dy, 0);
  }
};

inline Tensor isnan(const Tensor& x) { return IsNan::call(x); }
inline Tensor isinf(const Tensor& x) { return IsInf::call(x); }
inline Tensor isfinite(const Tensor& x) { return IsFinite::call(x); }
inline Tensor replace_nonfinite(const Operand& x, const Operand& nan, const Operand& largest) {
  return ReplaceNonfinite::call(x, nan, largest);
}

}  // namespace lamella
