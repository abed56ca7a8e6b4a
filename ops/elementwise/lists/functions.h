#pragma once

#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/complex.h"
#include "ops/elementwise/erf.h"
#include "ops/elementwise/exp.h"
#include "ops/elementwise/exponents.h"
#include "ops/elementwise/hyperbolic.h"
#include "ops/elementwise/log.h"
#include "ops/elementwise/parts.h"
#include "ops/elementwise/scaled_sums.h"
#include "ops/elementwise/sinc.h"
#include "ops/elementwise/special.h"
#include "ops/elementwise/sqrt.h"
#include "ops/elementwise/square.h"
#include "ops/elementwise/trigonometry.h"
#include "ops/op_info.h"

namespace lamella {

/// Elementwise functions for floating and complex dtypes.
using FunctionOps =
    OpList<Divide, Reciprocal, Sqrt, Exp, Expm1, Log, Log1p, Log2, Log10, Erf, Sin, Cos, Tan, Asin, Acos, Atan, Atan2,
           Sinh, Cosh, Asinh, Acosh, Atanh, Exp2, Rsqrt, LogAddExp, LogAddExp2, Xlogy, Sinc, Erfc, Erfinv, Lgamma,
           Digamma, Zeta, Hypot, CopySign, NextAfter, Frac, SignBit, Lerp, AddCDiv, Conj, Angle>;

}  // namespace lamella
