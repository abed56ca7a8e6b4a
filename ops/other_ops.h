#pragma once

#include "ops/creation/creation.h"
#include "ops/elementwise/clip.h"
#include "ops/elementwise/gelu.h"
#include "ops/index/gather.h"
#include "ops/index/index.h"
#include "ops/index/nonzero.h"
#include "ops/index/select.h"
#include "ops/index/take.h"
#include "ops/linalg/matmul.h"
#include "ops/movement/cast.h"
#include "ops/movement/in_place.h"
#include "ops/nn/dropout.h"
#include "ops/nn/linear.h"
#include "ops/nn/loss.h"
#include "ops/nn/one_hot.h"
#include "ops/nn/softmax.h"
#include "ops/random/random.h"
#include "ops/reduce/extremum.h"
#include "ops/reduce/sum.h"
#include "ops/shape/arrange.h"
#include "ops/shape/broadcast.h"
#include "ops/shape/join.h"
#include "ops/shape/permute.h"
#include "ops/shape/reshape.h"

namespace lamella {

/// All operators that are not elementwise.
using OtherOps = OpList<                                                                                    //
    Zeros, Ones, Full, Empty, ZerosLike, OnesLike, FullLike, EmptyLike, Arange, Linspace, Eye, Tril, Triu,  // creation
    Rand, Randn, Uniform, Normal, RandInt, RandPerm, Bernoulli,                                             // random
    Cast, AsType, Clone, Contiguous, ToDevice,                                                              // movement
    AddInPlace, SubtractInPlace, MultiplyInPlace, DivideInPlace, CopyInPlace, FillInPlace, ZeroInPlace,
    MaskedFillInPlace,                                                                                  //
    Reshape, Flatten, Squeeze, ExpandDims, BroadcastTo, SumTo, PermuteDims, MatrixTranspose, SwapAxes,  // shape
    Concat, Stack, Split, Flip, Roll,                                                                   //
    Take, TakeAlongAxis, Nonzero,                                                                       // indexing
    Gather, Scatter, ScatterAdd, ScatterReduce, PutAlongAxis,                                           //
    IndexSelect, IndexAdd, IndexCopy, IndexFill, IndexPut, MaskedSelect, MaskedScatter, MaskedFill,     //
    MoveAxis, Repeat, Tile, Unstack, Chunk, TensorSplit, Narrow, Select, HStack, VStack,                // shape
    AtLeast1d, AtLeast2d, AtLeast3d, BroadcastArrays, Meshgrid,                                         //
    Sum, Mean, Prod, Max, Min, ArgMax, ArgMin, Any, All,                                                // reduction
    Matmul, Linear,                                                                                     // products
    Clip, Gelu,                                                  // of several formulas
    Softmax, LogSoftmax, CrossEntropy, MseLoss, OneHot, Dropout  // networks
    >;

}  // namespace lamella
