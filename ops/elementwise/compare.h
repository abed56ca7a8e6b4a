#pragma once

#include "ops/elementwise/elementwise.h"

namespace lamella {

struct Equal : Binary<Equal> {
  static constexpr OpInfo info{.name = "equal",
                               .doc = "True where a == b; a comparison with NaN is false.",
                               .example = "equal(full([2], 1), full([2], 2))",
                               .reference = "np.equal(a, b)",
                               .dtypes = AnyDType};
  template <class X>
  LM_HD static constexpr auto forward(const X& a, const X& b) {
    return a == b;
  }
};

struct NotEqual : Binary<NotEqual> {
  static constexpr OpInfo info{.name = "not_equal",
                               .doc = "True where a differs from b; NaN differs from everything.",
                               .example = "not_equal(full([2], 1), full([2], 2))",
                               .reference = "np.not_equal(a, b)",
                               .dtypes = AnyDType};
  template <class X>
  LM_HD static constexpr auto forward(const X& a, const X& b) {
    return a != b;
  }
};

struct Less : Binary<Less> {
  static constexpr OpInfo info{.name = "less",
                               .doc = "True where a < b; a comparison with NaN is false.",
                               .example = "less(full([2], 1), full([2], 2))",
                               .reference = "np.less(a, b)",
                               .dtypes = Real | Boolean};
  template <class X>
  LM_HD static constexpr auto forward(const X& a, const X& b) {
    return a < b;
  }
};

struct LessEqual : Binary<LessEqual> {
  static constexpr OpInfo info{.name = "less_equal",
                               .doc = "True where a <= b; a comparison with NaN is false.",
                               .example = "less_equal(full([2], 1), full([2], 2))",
                               .reference = "np.less_equal(a, b)",
                               .dtypes = Real | Boolean};
  template <class X>
  LM_HD static constexpr auto forward(const X& a, const X& b) {
    return a <= b;
  }
};

struct Greater : Binary<Greater> {
  static constexpr OpInfo info{.name = "greater",
                               .doc = "True where a > b; a comparison with NaN is false.",
                               .example = "greater(full([2], 1), full([2], 2))",
                               .reference = "np.greater(a, b)",
                               .dtypes = Real | Boolean};
  template <class X>
  LM_HD static constexpr auto forward(const X& a, const X& b) {
    return a > b;
  }
};

struct GreaterEqual : Binary<GreaterEqual> {
  static constexpr OpInfo info{.name = "greater_equal",
                               .doc = "True where a >= b; a comparison with NaN is false.",
                               .example = "greater_equal(full([2], 1), full([2], 2))",
                               .reference = "np.greater_equal(a, b)",
                               .dtypes = Real | Boolean};
  template <class X>
  LM_HD static constexpr auto forward(const X& a, const X& b) {
    return a >= b;
  }
};

inline Tensor equal(const Operand& a, const Operand& b) { return Equal::call(a, b); }
inline Tensor not_equal(const Operand& a, const Operand& b) { return NotEqual::call(a, b); }
inline Tensor less(const Operand& a, const Operand& b) { return Less::call(a, b); }
inline Tensor less_equal(const Operand& a, const Operand& b) { return LessEqual::call(a, b); }
inline Tensor greater(const Operand& a, const Operand& b) { return Greater::call(a, b); }
inline Tensor greater_equal(const Operand& a, const Operand& b) { return GreaterEqual::call(a, b); }

inline Tensor operator==(const Operand& a, const Operand& b) { return equal(a, b); }
inline Tensor operator!=(const Operand& a, const Operand& b) { return not_equal(a, b); }
inline Tensor operator<(const Operand& a, const Operand& b) { return less(a, b); }
inline Tensor operator<=(const Operand& a, const Operand& b) { return less_equal(a, b); }
inline Tensor operator>(const Operand& a, const Operand& b) { return greater(a, b); }
inline Tensor operator>=(const Operand& a, const Operand& b) { return greater_equal(a, b); }

}  // namespace lamella
