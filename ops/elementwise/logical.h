#pragma once

#include "ops/elementwise/elementwise.h"

namespace lamella {

struct LogicalAnd : Binary<LogicalAnd> {
  static constexpr OpInfo info{.name = "logical_and",
                               .doc = "True where both are nonzero.",
                               .example = "logical_and(full([2], 1), full([2], 2))",
                               .reference = "np.logical_and(a, b)",
                               .dtypes = AnyDType};
  template <class X>
  LM_HD static constexpr auto forward(const X& a, const X& b) {
    return (a != 0) & (b != 0);
  }
};

struct LogicalOr : Binary<LogicalOr> {
  static constexpr OpInfo info{.name = "logical_or",
                               .doc = "True where at least one is nonzero.",
                               .example = "logical_or(full([2], 1), full([2], 2))",
                               .reference = "np.logical_or(a, b)",
                               .dtypes = AnyDType};
  template <class X>
  LM_HD static constexpr auto forward(const X& a, const X& b) {
    return (a != 0) | (b != 0);
  }
};

struct LogicalXor : Binary<LogicalXor> {
  static constexpr OpInfo info{.name = "logical_xor",
                               .doc = "True where exactly one is nonzero.",
                               .example = "logical_xor(full([2], 1), full([2], 2))",
                               .reference = "np.logical_xor(a, b)",
                               .dtypes = AnyDType};
  template <class X>
  LM_HD static constexpr auto forward(const X& a, const X& b) {
    return (a != 0) ^ (b != 0);
  }
};

struct LogicalNot : Unary<LogicalNot> {
  static constexpr OpInfo info{.name = "logical_not",
                               .doc = "True where x is zero.",
                               .example = "logical_not(zeros([2]))",
                               .reference = "np.logical_not(x)",
                               .dtypes = AnyDType};
  template <class X>
  LM_HD static constexpr auto forward(const X& x) {
    return x == 0;
  }
};

inline Tensor logical_not(const Tensor& x) { return LogicalNot::call(x); }
inline Tensor logical_and(const Operand& a, const Operand& b) { return LogicalAnd::call(a, b); }
inline Tensor logical_or(const Operand& a, const Operand& b) { return LogicalOr::call(a, b); }
inline Tensor logical_xor(const Operand& a, const Operand& b) { return LogicalXor::call(a, b); }

}  // namespace lamella
