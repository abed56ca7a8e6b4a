#pragma once

#include "ops/elementwise/elementwise.h"

namespace lamella {

struct BitwiseAnd : Binary<BitwiseAnd> {
  static constexpr OpInfo info{.name = "bitwise_and",
                               .doc = "The bits set in both; the logical and of bools.",
                               .example = "bitwise_and(full([2], 1), full([2], 2))",
                               .reference = "np.bitwise_and(a, b)",
                               .dtypes = Integral | Boolean};
  template <class X>
  LM_HD static constexpr auto forward(const X& a, const X& b) {
    return a & b;
  }
};

struct BitwiseOr : Binary<BitwiseOr> {
  static constexpr OpInfo info{.name = "bitwise_or",
                               .doc = "The bits set in one of them; the logical or of bools.",
                               .example = "bitwise_or(full([2], 1), full([2], 2))",
                               .reference = "np.bitwise_or(a, b)",
                               .dtypes = Integral | Boolean};
  template <class X>
  LM_HD static constexpr auto forward(const X& a, const X& b) {
    return a | b;
  }
};

struct BitwiseXor : Binary<BitwiseXor> {
  static constexpr OpInfo info{.name = "bitwise_xor",
                               .doc = "The bits set in exactly one of them.",
                               .example = "bitwise_xor(full([2], 1), full([2], 2))",
                               .reference = "np.bitwise_xor(a, b)",
                               .dtypes = Integral | Boolean};
  template <class X>
  LM_HD static constexpr auto forward(const X& a, const X& b) {
    return a ^ b;
  }
};

struct BitwiseNot : Unary<BitwiseNot> {
  static constexpr OpInfo info{.name = "bitwise_invert",
                               .doc = "The bits that are not set; the negation of a bool.",
                               .example = "bitwise_invert(full([2], 1))",
                               .reference = "np.invert(x)",
                               .dtypes = Integral | Boolean};
  template <class X>
  LM_HD static constexpr auto forward(const X& x) {
    return ~x;
  }
};

inline Tensor bitwise_invert(const Tensor& x) { return BitwiseNot::call(x); }
inline Tensor bitwise_and(const Operand& a, const Operand& b) { return BitwiseAnd::call(a, b); }
inline Tensor bitwise_or(const Operand& a, const Operand& b) { return BitwiseOr::call(a, b); }
inline Tensor bitwise_xor(const Operand& a, const Operand& b) { return BitwiseXor::call(a, b); }

inline Tensor operator&(const Operand& a, const Operand& b) { return bitwise_and(a, b); }
inline Tensor operator|(const Operand& a, const Operand& b) { return bitwise_or(a, b); }
inline Tensor operator^(const Operand& a, const Operand& b) { return bitwise_xor(a, b); }
inline Tensor operator~(const Tensor& x) { return bitwise_invert(x); }

}  // namespace lamella
