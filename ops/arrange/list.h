#pragma once

#include "ops/arrange/arrange.h"
#include "ops/arrange/assemble.h"
#include "ops/arrange/dynamic.h"
#include "ops/arrange/sliding_window.h"
#include "ops/arrange/triangle.h"
#include "ops/op_info.h"

namespace lamella {

/// Operators that repeat, order and put together parts of tensors.
using ArrangeOps = OpList<  //
    MoveAxis, Repeat, Tile, Unstack, Chunk, TensorSplit, Narrow, Select, HStack, VStack, AtLeast1d, AtLeast2d,
    AtLeast3d, BroadcastArrays, Meshgrid,  // arrange
    DStack, ColumnStack, HSplit, VSplit, DSplit, FlipLr, FlipUd, Rot90, Ravel, Unflatten, BlockDiag, CartesianProd,
    Combinations,                                                           // assemble
    ShapeOf, DynamicShape, DynamicReshape, DynamicBroadcast, DynamicSlice,  // dynamic
    SlidingWindow,                                                          // sliding_window
    Tril, Triu                                                              // triangle
    >;

}  // namespace lamella
