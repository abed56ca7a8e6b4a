#pragma once

#include "ops/arrange/list.h"
#include "ops/creation/list.h"
#include "ops/distributed/list.h"
#include "ops/elementwise/composed_list.h"
#include "ops/elementwise/list.h"
#include "ops/fft/list.h"
#include "ops/index/list.h"
#include "ops/linalg/list.h"
#include "ops/movement/list.h"
#include "ops/nn/list.h"
#include "ops/random/list.h"
#include "ops/reduce/list.h"
#include "ops/scan/list.h"
#include "ops/shape/list.h"
#include "ops/sort/list.h"
#include "ops/special/list.h"

namespace lamella {

/// The operator lists of all families.
using OperatorLists =
    OperatorListsOf<ElementwiseOps, CreationOps, RandomOps, MovementOps, ShapeOps, ArrangeOps, IndexOps, ComposedOps,
                    ReduceOps, ScanOps, SortOps, LinalgOps, FftOps, SpecialOps, NnOps, DistributedOps>;

/// Every operator. The bindings, the docs and the tests are generated from this list.
using AllOps = OperatorLists::Joined;

}  // namespace lamella
