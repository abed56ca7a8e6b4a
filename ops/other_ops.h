#pragma once

#include "ops/creation/creation.h"
#include "ops/elementwise/clip.h"
#include "ops/elementwise/gelu.h"
#include "ops/index/index.h"
#include "ops/index/nonzero.h"
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
#include "ops/reduce/log_sum_exp.h"
#include "ops/reduce/sum.h"
#include "ops/reduce/variance.h"
#include "ops/scan/cumulative.h"
#include "ops/shape/broadcast.h"
#include "ops/shape/join.h"
#include "ops/shape/permute.h"
#include "ops/shape/reshape.h"
#include "ops/sort/histogram.h"
#include "ops/sort/quantiles.h"
#include "ops/sort/search.h"
#include "ops/sort/sort.h"
#include "ops/sort/unique.h"

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
    Sum, Mean, Prod, Max, Min, ArgMax, ArgMin, Any, All,                                                // reduction
    CountNonzero, Var, Std, LogSumExp, NanSum, NanMean,                                                 // statistics
    CumulativeSum, CumulativeProd, CumSum, CumProd, LogCumSumExp, CumMax, CumMin, Diff,                 // scans
    Sort, ArgSort, TopK, KthValue, Median, NanMedian, Quantile,                                         // sorting
    SearchSorted, IsIn, UniqueAll, UniqueCounts, UniqueInverse, UniqueValues, BinCount, Histogram,  // searching, sets
    Matmul, Linear,                                                                                 // products
    Clip, Gelu,                                                  // of several formulas
    Softmax, LogSoftmax, CrossEntropy, MseLoss, OneHot, Dropout  // networks
    >;

}  // namespace lamella
