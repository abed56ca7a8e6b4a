#pragma once

#include "ops/op_info.h"
#include "ops/sort/consecutive.h"
#include "ops/sort/histogram.h"
#include "ops/sort/histogram_grid.h"
#include "ops/sort/nonzero_static.h"
#include "ops/sort/quantiles.h"
#include "ops/sort/search.h"
#include "ops/sort/sort.h"
#include "ops/sort/unique.h"

namespace lamella {

/// Operators that sort, search and count elements.
using SortOps = OpList<                                                   //
    UniqueConsecutive,                                                    // consecutive
    BinCount, Histogram,                                                  // histogram
    Histc, HistogramDd,                                                   // histogram_grid
    NonzeroStatic,                                                        // nonzero_static
    Median, NanMedian, Quantile, NanQuantile, Percentile, NanPercentile,  // quantiles
    SearchSorted, IsIn, Bucketize,                                        // search
    Sort, ArgSort, TopK, KthValue, ModeValue,                             // sort
    UniqueAll, UniqueCounts, UniqueInverse, UniqueValues, Unique          // unique
    >;

}  // namespace lamella
