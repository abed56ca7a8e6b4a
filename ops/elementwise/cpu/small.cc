#include "ops/elementwise/cpu/kernel.h"
#include "ops/elementwise/list.h"
#include "ops/elementwise/lists/either_sign.h"
#include "ops/simd/brief.h"
#include "ops/simd/float_bits.h"

// Kernels specific to narrow dtypes; see Note [Narrow dtypes].

namespace lamella::cpu {
namespace {

/// Operators computed directly on integers of 8 and 16 bits.
using OfIntegers = OpList<Abs, Sign, Relu, Maximum, Minimum, ClipBetween, Less, LessEqual, Greater, GreaterEqual,
                          BitwiseLeftShift, BitwiseRightShift>;

/// Operators that need no arithmetic, and `nextafter`, whose result must not be rounded.
using OfFloats = OpList<Negative, Abs, Sign, CopySign, SignBit, IsNan, IsInf, IsFinite, NextAfter, Relu, Maximum,
                        Minimum, ClipBetween, Hardtanh, Threshold, Hardshrink, ReplaceNonfinite, Where, Equal, NotEqual,
                        Less, LessEqual, Greater, GreaterEqual>;

/// Operators so short that copying 16-bit floats into blocks of float would take most of the time, or with faster
/// formulas if the result has few digits.
using OfFloatsInRegisters = OpList<Add, Subtract, Multiply, Divide, Reciprocal, Square, Pow, Sqrt, Rsqrt, Lerp, AddCMul,
                                   AddCDiv, SquaredDifference, LeakyRelu, Floor, Ceil, Trunc, Round, Frac, Hardsigmoid,
                                   Hardswish, Softsign, Erfc, GeluErf>;

template <class Op, class T, class V = typename simd::OperandOf<simd::Vec, T>::type>
void fill_one(ElementwiseTable& table) {
  table.forward[ElementwiseOps::index_of<Op>()][static_cast<int>(dtype_of<T>)] = &ElementwiseKernel<Op, T, -1, V>::run;
}

template <class Ops, class... T>
void fill(ElementwiseTable& table) {
  Ops::for_each([&]<class Op> { (fill_one<Op, T>(table), ...); });
}

/// Gives the operators the kernels that they have for From.
template <class Ops, class From, class T>
void share(ElementwiseTable& table) {
  Ops::for_each([&]<class Op> {
    auto& kernels = table.forward[ElementwiseOps::index_of<Op>()];
    kernels[static_cast<int>(dtype_of<T>)] = kernels[static_cast<int>(dtype_of<From>)];
  });
}

template <class Ops, class T>
void fill_in_registers(ElementwiseTable& table) {
  if constexpr (simd::kHasBrief<T>) Ops::for_each([&]<class Op> { fill_one<Op, T, simd::Brief<T>>(table); });
}

}  // namespace

void fill_elementwise_small(ElementwiseTable& table) {
  fill<OfEitherSign, std::int8_t, std::int16_t>(table);
  share<OfEitherSign, std::int8_t, std::uint8_t>(table);
  share<OfEitherSign, std::int16_t, std::uint16_t>(table);
  fill<OfIntegers, std::int8_t, std::int16_t, std::uint8_t, std::uint16_t>(table);
  fill<OfFloats, Half, BFloat16>(table);
  fill_in_registers<OfFloatsInRegisters, Half>(table);
  fill_in_registers<OfFloatsInRegisters, BFloat16>(table);
}

}  // namespace lamella::cpu
