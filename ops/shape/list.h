#pragma once

#include "ops/op_info.h"
#include "ops/shape/broadcast.h"
#include "ops/shape/join.h"
#include "ops/shape/permute.h"
#include "ops/shape/reshape.h"

namespace lamella {

/// Operators that change shapes, join tensors and cut them up: views, and the copies that these need.
using ShapeOps = OpList<                     //
    BroadcastTo,                             // broadcast
    Concat, Stack, Split, Flip, Roll,        // join
    PermuteDims, MatrixTranspose, SwapAxes,  // permute
    Reshape, Flatten, Squeeze, ExpandDims    // reshape
    >;

}  // namespace lamella
