#pragma once

#include "ops/elementwise/abs.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/bitwise.h"
#include "ops/elementwise/clip.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/complex.h"
#include "ops/elementwise/erf.h"
#include "ops/elementwise/exp.h"
#include "ops/elementwise/exponents.h"
#include "ops/elementwise/extrema.h"
#include "ops/elementwise/gates.h"
#include "ops/elementwise/gelu.h"
#include "ops/elementwise/hyperbolic.h"
#include "ops/elementwise/log.h"
#include "ops/elementwise/logical.h"
#include "ops/elementwise/loss_terms.h"
#include "ops/elementwise/parts.h"
#include "ops/elementwise/pow.h"
#include "ops/elementwise/predicates.h"
#include "ops/elementwise/rectifiers.h"
#include "ops/elementwise/relu.h"
#include "ops/elementwise/rounding.h"
#include "ops/elementwise/scaled_sums.h"
#include "ops/elementwise/shrink.h"
#include "ops/elementwise/sigmoid.h"
#include "ops/elementwise/softplus.h"
#include "ops/elementwise/special.h"
#include "ops/elementwise/sqrt.h"
#include "ops/elementwise/square.h"
#include "ops/elementwise/tanh.h"
#include "ops/elementwise/trigonometry.h"
#include "ops/elementwise/where.h"

namespace lamella {

/// All elementwise operators: kernels on every device, bindings, docs and tests are made for each of them.
using ElementwiseOps = OpList<                                                                //
    Add, Subtract, Multiply, Divide, Negative, FloorDivide, Remainder, Pow,                   // arithmetic
    Abs, Sign, Square, Reciprocal, Sqrt, Exp, Expm1, Log, Log1p, Log2, Log10, Erf, Sin, Cos,  // functions
    Relu, Tanh, Sigmoid, GeluErf, GeluTanh,                                                   // activations
    LeakyRelu, Elu, Selu, Celu, Hardtanh, Threshold, Hardshrink, Softshrink, Tanhshrink,      //
    Silu, Mish, Hardsigmoid, Hardswish, Softplus, LogSigmoid, Softsign,                       //
    SquaredDifference, SmoothL1, LogLoss,                                                     // terms of losses
    Floor, Ceil, Trunc, Round, Maximum, Minimum, ClipBetween, Where,                          // rounding and choice
    Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual, IsNan, IsInf, IsFinite,          // comparison
    ReplaceNonfinite,                                                                         //
    Tan, Asin, Acos, Atan, Atan2, Sinh, Cosh, Asinh, Acosh, Atanh, Exp2, Rsqrt, LogAddExp, LogAddExp2, Xlogy, Sinc,  //
    Erfc, Erfinv, Lgamma, Digamma, Zeta, Hypot, CopySign, NextAfter, Fmod, Frac, SignBit, Heaviside, Fmax, Fmin, Lerp,
    AddCMul, AddCDiv,                                                                             //
    Conj, Angle, BitwiseLeftShift, BitwiseRightShift,                                             // complex, bits
    LogicalAnd, LogicalOr, LogicalXor, LogicalNot, BitwiseAnd, BitwiseOr, BitwiseXor, BitwiseNot  // logic
    >;

}  // namespace lamella
