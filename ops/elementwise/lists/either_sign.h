#pragma once

#include "ops/elementwise/lists/arithmetic.h"

namespace lamella {

/// Operators to whose results on integers a sign makes no difference: unsigned integers have the kernels of signed
/// ones.
using OfEitherSign =
    OpList<Add, Subtract, Multiply, Negative, Square, Where, Floor, Ceil, Trunc, Round, IsNan, IsInf, IsFinite, Equal,
           NotEqual, LogicalAnd, LogicalOr, LogicalXor, LogicalNot, BitwiseAnd, BitwiseOr, BitwiseXor, BitwiseNot>;

}  // namespace lamella
