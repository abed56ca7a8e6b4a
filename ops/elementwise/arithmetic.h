#pragma once

#include "ops/elementwise/elementwise.h"

namespace lamella {

struct Add : Binary<Add> {
  static constexpr bool kShortFormula = true;
  static constexpr OpInfo info{.name = "add",
                               .doc = "The sum a + b; the logical or of two bools.",
                               .example = "add(ones([2]), 1)",
                               .reference = "np.add(a, b)"};
  template <class X>
  LM_HD static constexpr X forward(const X& a, const X& b) {
    return a + b;
  }
  template <int I, class X>
  LM_HD static constexpr X backward(Wrt<I>, const X&, const X&, const X&, const X& dy) {
    return dy;
  }
};

struct Subtract : Binary<Subtract> {
  static constexpr bool kShortFormula = true;
  static constexpr OpInfo info{.name = "subtract",
                               .doc = "The difference a - b.",
                               .example = "subtract(ones([2]), 1)",
                               .reference = "np.subtract(a, b)",
                               .dtypes = Numeric};
  template <class X>
  LM_HD static constexpr X forward(const X& a, const X& b) {
    return a - b;
  }
  template <class X>
  LM_HD static constexpr X backward(Wrt<0>, const X&, const X&, const X&, const X& dy) {
    return dy;
  }
  template <class X>
  LM_HD static constexpr X backward(Wrt<1>, const X&, const X&, const X&, const X& dy) {
    return -dy;
  }
};

struct Multiply : Binary<Multiply> {
  static constexpr bool kShortFormula = true;
  static constexpr OpInfo info{.name = "multiply",
                               .doc = "The product a * b; the logical and of two bools.",
                               .example = "multiply(ones([2]), 3)",
                               .reference = "np.multiply(a, b)"};
  template <class X>
  LM_HD static constexpr X forward(const X& a, const X& b) {
    return a * b;
  }
  template <class X>
  LM_HD static constexpr X backward(Wrt<0>, const X&, const X& b, const X&, const X& dy) {
    return dy * b;
  }
  template <class X>
  LM_HD static constexpr X backward(Wrt<1>, const X& a, const X&, const X&, const X& dy) {
    return dy * a;
  }
};

struct Divide : Binary<Divide> {
  static constexpr bool kShortFormula = true;
  static constexpr OpInfo info{.name = "divide",
                               .doc = "The true quotient a / b. Integers are divided as float32.",
                               .example = "divide(ones([2]), 4)",
                               .reference = "np.divide(a, b)",
                               .dtypes = Floating | Complex,
                               .kinks = {0.0, __builtin_nan("")}};
  template <class X>
  LM_HD static constexpr X forward(const X& a, const X& b) {
    return a / b;
  }
  template <class X>
  LM_HD static constexpr X backward(Wrt<0>, const X&, const X& b, const X&, const X& dy) {
    return dy / b;
  }
  template <class X>
  LM_HD static constexpr X backward(Wrt<1>, const X&, const X& b, const X& y, const X& dy) {
    return -dy * (y / b);
  }
};

struct Negative : Unary<Negative> {
  static constexpr bool kShortFormula = true;
  static constexpr OpInfo info{.name = "negative",
                               .doc = "-x.",
                               .example = "negative(ones([2]))",
                               .reference = "np.negative(x)",
                               .dtypes = Numeric};
  template <class X>
  LM_HD static constexpr X forward(const X& x) {
    return -x;
  }
  template <class X>
  LM_HD static constexpr X backward(const X&, const X&, const X& dy) {
    return -dy;
  }
};

struct FloorDivide : Binary<FloorDivide> {
  static constexpr OpInfo info{.name = "floor_divide",
                               .doc =
                                   "The quotient rounded towards minus infinity, like Python's a // b. An integer "
                                   "divided by 0 gives 0. With an infinite floating operand it is a / b, as in the "
                                   "Python array API standard: inf // 2 is inf, and -1 // inf is -0.",
                               .example = "floor_divide(full([2], 7), 2)",
                               .reference = "np.floor_divide(a, b)",
                               .dtypes = Real};
  template <class X>
  LM_HD static constexpr X forward(const X& a, const X& b) {
    return floor_divide(a, b);
  }
};

struct Remainder : Binary<Remainder> {
  static constexpr OpInfo info{.name = "remainder",
                               .doc =
                                   "The remainder of floor_divide, with the sign of the divisor, like Python's a % b. "
                                   "The gradient by b is -floor_divide(a, b).",
                               .example = "remainder(full([2], 7), 2)",
                               .reference = "np.remainder(a, b)",
                               .dtypes = Real,
                               .kinks = {0.0, __builtin_nan("")}};
  template <class X>
  LM_HD static constexpr X forward(const X& a, const X& b) {
    return remainder(a, b);
  }
  template <class X>
  LM_HD static constexpr X backward(Wrt<0>, const X&, const X&, const X&, const X& dy) {
    return dy;
  }
  template <class X>
  LM_HD static constexpr X backward(Wrt<1>, const X& a, const X& b, const X&, const X& dy) {
    return -dy * floor_divide(a, b);
  }
};

inline Tensor add(const Operand& a, const Operand& b) { return Add::call(a, b); }
inline Tensor subtract(const Operand& a, const Operand& b) { return Subtract::call(a, b); }
inline Tensor multiply(const Operand& a, const Operand& b) { return Multiply::call(a, b); }
inline Tensor divide(const Operand& a, const Operand& b) { return Divide::call(a, b); }
inline Tensor negative(const Tensor& x) { return Negative::call(x); }
inline Tensor floor_divide(const Operand& a, const Operand& b) { return FloorDivide::call(a, b); }
inline Tensor remainder(const Operand& a, const Operand& b) { return Remainder::call(a, b); }

inline Tensor operator+(const Operand& a, const Operand& b) { return add(a, b); }
inline Tensor operator-(const Operand& a, const Operand& b) { return subtract(a, b); }
inline Tensor operator*(const Operand& a, const Operand& b) { return multiply(a, b); }
inline Tensor operator/(const Operand& a, const Operand& b) { return divide(a, b); }
inline Tensor operator-(const Tensor& x) { return negative(x); }

}  // namespace lamella
