#pragma once

#include "ops/op_info.h"
#include "ops/shape/arrange.h"
#include "ops/shape/assemble.h"
#include "ops/shape/broadcast.h"
#include "ops/shape/join.h"
#include "ops/shape/permute.h"
#include "ops/shape/reshape.h"

namespace lamella {

/// Operators that change shapes, join tensors and cut them up.
using ShapeOps = OpList<  //
    MoveAxis, Repeat, Tile, Unstack, Chunk, TensorSplit, Narrow, Select, HStack, VStack, AtLeast1d, AtLeast2d,
    AtLeast3d, BroadcastArrays, Meshgrid,  // arrange
    DStack, ColumnStack, HSplit, VSplit, DSplit, FlipLr, FlipUd, Rot90, Ravel, Unflatten, SlidingWindow, BlockDiag,
    CartesianProd, Combinations,             // assemble
    BroadcastTo, SumTo,                      // broadcast
    Concat, Stack, Split, Flip, Roll,        // join
    PermuteDims, MatrixTranspose, SwapAxes,  // permute
    Reshape, Flatten, Squeeze, ExpandDims    // reshape
    >;

}  // namespace lamella
