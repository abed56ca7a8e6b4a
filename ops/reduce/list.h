#pragma once

#include "ops/op_info.h"
#include "ops/reduce/extremum.h"
#include "ops/reduce/log_sum_exp.h"
#include "ops/reduce/sum.h"
#include "ops/reduce/summary.h"
#include "ops/reduce/variance.h"

namespace lamella {

/// Operators that reduce axes.
using ReduceOps = OpList<                                                 //
    Max, Min, ArgMax, ArgMin, Any, All, CountNonzero,                     // extremum
    LogSumExp, NanSum, NanMean,                                           // log_sum_exp
    Sum, Mean, Prod, SumTo,                                               // sum
    VarMean, StdMean, AMinMax, AllClose, Trapezoid, CumulativeTrapezoid,  // summary
    Var, Std                                                              // variance
    >;

}  // namespace lamella
