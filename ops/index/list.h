#pragma once

#include "ops/index/gather.h"
#include "ops/index/index.h"
#include "ops/index/nonzero.h"
#include "ops/index/place.h"
#include "ops/index/ravel.h"
#include "ops/index/select.h"
#include "ops/index/take.h"
#include "ops/op_info.h"

namespace lamella {

/// Operators that read and write elements by their positions.
using IndexOps = OpList<                                                                             //
    Gather, Scatter, ScatterAdd, ScatterReduce, PutAlongAxis,                                        // gather
    Nonzero,                                                                                         // nonzero
    SelectScatter, SliceScatter, Put, IndexReduce, ArgWhere,                                         // place
    UnravelIndex, RavelMultiIndex,                                                                   // ravel
    IndexSelect, IndexAdd, IndexCopy, IndexFill, IndexPut, MaskedSelect, MaskedScatter, MaskedFill,  // select
    Take, TakeAlongAxis                                                                              // take
    >;

}  // namespace lamella
