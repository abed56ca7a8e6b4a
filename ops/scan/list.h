#pragma once

#include "ops/op_info.h"
#include "ops/scan/cumulative.h"
#include "ops/scan/gradient.h"

namespace lamella {

/// Running sums and products along an axis, and differences.
using ScanOps = OpList<                                                                  //
    CumulativeSum, CumulativeProd, CumSum, CumProd, LogCumSumExp, CumMax, CumMin, Diff,  // cumulative
    NumericalGradient                                                                    // gradient
    >;

}  // namespace lamella
