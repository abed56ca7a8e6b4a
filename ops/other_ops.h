#pragma once

#include "ops/creation/creation.h"
#include "ops/linalg/matmul.h"
#include "ops/movement/cast.h"
#include "ops/movement/in_place.h"
#include "ops/nn/linear.h"
#include "ops/reduce/extremum.h"
#include "ops/reduce/sum.h"
#include "ops/shape/broadcast.h"
#include "ops/shape/permute.h"
#include "ops/shape/reshape.h"

namespace lamella {

/// All operators that are not elementwise.
using OtherOps = OpList<                                                                          //
    Zeros, Ones, Full, Empty, ZerosLike, OnesLike, FullLike, EmptyLike,                           // creation
    Arange, Linspace, Eye, Tril, Triu,                                                            //
    Cast, AsType, Clone, Contiguous, ToDevice,                                                    // movement
    AddInPlace, SubtractInPlace, MultiplyInPlace, DivideInPlace, CopyInPlace, FillInPlace, ZeroInPlace,  //
    Reshape, Flatten, Squeeze, ExpandDims, BroadcastTo, SumTo, PermuteDims, MatrixTranspose, SwapAxes,   // shape
    Sum, Mean, Prod, Max, Min, ArgMax, ArgMin, Any, All,                                          // reduction
    Matmul, Linear                                                                                // products
    >;

}  // namespace lamella
