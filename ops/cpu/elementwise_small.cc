#include "ops/cpu/elementwise.h"
#include "ops/simd/float_bits.h"

// Kernels of their own for narrow dtypes; see Note [Narrow dtypes].

namespace lamella::cpu {
namespace {

/// What integers of 8 and 16 bits compute as they are.
using OfIntegers = OpList<Add, Subtract, Multiply, Negative, Abs, Sign, Relu, Maximum, Minimum, ClipBetween, Where,  //
                          Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual,                                   //
                          LogicalAnd, LogicalOr, LogicalXor, LogicalNot, BitwiseAnd, BitwiseOr, BitwiseXor,
                          BitwiseLeftShift, BitwiseRightShift, BitwiseNot>;

/// What takes no arithmetic, and `nextafter`, which must not be rounded.
using OfFloats =
    OpList<Negative, Abs, Sign, CopySign, SignBit, IsNan, IsInf, IsFinite, NextAfter, Relu, Maximum, Minimum,
           ClipBetween, Hardtanh, Threshold, Where, Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual>;

template <class Ops, class... T>
void fill(ElementwiseTable& table) {
  const auto fill_dtype = [&]<class E> {
    Ops::for_each([&]<class Op> {
      table.forward[ElementwiseOps::index_of<Op>()][static_cast<int>(dtype_of<E>)] = &ElementwiseKernel<Op, E, -1>::run;
    });
  };
  (fill_dtype.template operator()<T>(), ...);
}

}  // namespace

void fill_elementwise_small(ElementwiseTable& table) {
  fill<OfIntegers, std::int8_t, std::int16_t, std::uint8_t, std::uint16_t>(table);
  fill<OfFloats, Half, BFloat16>(table);
}

}  // namespace lamella::cpu
