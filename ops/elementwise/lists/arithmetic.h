#pragma once

#include "ops/elementwise/abs.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/bitwise.h"
#include "ops/elementwise/clip.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/extrema.h"
#include "ops/elementwise/logical.h"
#include "ops/elementwise/parts.h"
#include "ops/elementwise/pow.h"
#include "ops/elementwise/predicates.h"
#include "ops/elementwise/rectifiers.h"
#include "ops/elementwise/relu.h"
#include "ops/elementwise/rounding.h"
#include "ops/elementwise/scaled_sums.h"
#include "ops/elementwise/square.h"
#include "ops/elementwise/where.h"
#include "ops/op_info.h"

namespace lamella {

/// Elementwise operators for any dtype: arithmetic, rounding, selection, comparison and logic.
using ArithmeticOps =
    OpList<Add, Subtract, Multiply, Negative, FloorDivide, Remainder, Fmod, Pow, Abs, Sign, Square, AddCMul, Floor,
           Ceil, Trunc, Round, Maximum, Minimum, Fmax, Fmin, Heaviside, ClipBetween, Where, Relu, Hardtanh, Threshold,
           Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual, IsNan, IsInf, IsFinite, LogicalAnd, LogicalOr,
           LogicalXor, LogicalNot, BitwiseAnd, BitwiseOr, BitwiseXor, BitwiseNot, BitwiseLeftShift, BitwiseRightShift>;

}  // namespace lamella
