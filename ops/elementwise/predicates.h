#pragma once

#include "ops/elementwise/elementwise.h"

namespace lamella {

struct IsNan : Unary<IsNan> {
  static constexpr OpInfo info{.name = "isnan",
                               .doc = "Whether x is NaN.",
                               .example = "isnan(full([2], 0.5))",
                               .reference = "np.isnan(x)",
                               .dtypes = AnyDType};
  template <class X>
  LM_HD static constexpr auto forward(const X& x) {
    return isnan(x);
  }
};

struct IsInf : Unary<IsInf> {
  static constexpr OpInfo info{.name = "isinf",
                               .doc = "Whether x is infinite.",
                               .example = "isinf(full([2], 0.5))",
                               .reference = "np.isinf(x)",
                               .dtypes = AnyDType};
  template <class X>
  LM_HD static constexpr auto forward(const X& x) {
    return isinf(x);
  }
};

struct IsFinite : Unary<IsFinite> {
  static constexpr OpInfo info{.name = "isfinite",
                               .doc = "Whether x is neither NaN nor infinite.",
                               .example = "isfinite(full([2], 0.5))",
                               .reference = "np.isfinite(x)",
                               .dtypes = AnyDType};
  template <class X>
  LM_HD static constexpr auto forward(const X& x) {
    return isfinite(x);
  }
};

inline Tensor isnan(const Tensor& x) { return IsNan::call(x); }
inline Tensor isinf(const Tensor& x) { return IsInf::call(x); }
inline Tensor isfinite(const Tensor& x) { return IsFinite::call(x); }

}  // namespace lamella
