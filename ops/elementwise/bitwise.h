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
                               .doc = "All bits inverted; the negation of a bool.",
                               .example = "bitwise_invert(full([2], 1))",
                               .reference = "np.invert(x)",
                               .dtypes = Integral | Boolean};
  template <class X>
  LM_HD static constexpr auto forward(const X& x) {
    return ~x;
  }
};

struct BitwiseLeftShift : Binary<BitwiseLeftShift> {
  static constexpr OpInfo info{.name = "bitwise_left_shift",
                               .doc = "a * 2 ** b, wrapping; 0 where b is negative or reaches the width of the dtype.",
                               .example = "bitwise_left_shift(full([2], 5), full([2], 2))",
                               .reference = "np.left_shift(a, b)",
                               .dtypes = Integral};
  template <class X>
  LM_HD static constexpr auto forward(const X& a, const X& b) {
    return a << b;
  }
};

struct BitwiseRightShift : Binary<BitwiseRightShift> {
  static constexpr OpInfo info{.name = "bitwise_right_shift",
                               .doc =
                                   "a / 2 ** b rounded down: the sign is kept. 0, or -1 for a negative a, where b is "
                                   "negative or reaches the width of the dtype.",
                               .example = "bitwise_right_shift(full([2], 5), full([2], 2))",
                               .reference = "np.right_shift(a, b)",
                               .dtypes = Integral};
  template <class X>
  LM_HD static constexpr auto forward(const X& a, const X& b) {
    return a >> b;
  }
};

inline Tensor bitwise_invert(const Tensor& x) { return BitwiseNot::call(x); }
inline Tensor bitwise_and(const Operand& a, const Operand& b) { return BitwiseAnd::call(a, b); }
inline Tensor bitwise_or(const Operand& a, const Operand& b) { return BitwiseOr::call(a, b); }
inline Tensor bitwise_xor(const Operand& a, const Operand& b) { return BitwiseXor::call(a, b); }
inline Tensor bitwise_left_shift(const Operand& a, const Operand& b) { return BitwiseLeftShift::call(a, b); }
inline Tensor bitwise_right_shift(const Operand& a, const Operand& b) { return BitwiseRightShift::call(a, b); }

inline Tensor operator&(const Operand& a, const Operand& b) { return bitwise_and(a, b); }
inline Tensor operator|(const Operand& a, const Operand& b) { return bitwise_or(a, b); }
inline Tensor operator^(const Operand& a, const Operand& b) { return bitwise_xor(a, b); }
inline Tensor operator~(const Tensor& x) { return bitwise_invert(x); }

}  // namespace lamella
