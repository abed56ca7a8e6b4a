#pragma once

#include "ops/creation/creation.h"
#include "ops/op_info.h"

namespace lamella {

/// Operators that create tensors.
using CreationOps = OpList<                                                                              //
    Zeros, Ones, Full, Empty, ZerosLike, OnesLike, FullLike, EmptyLike, Arange, Linspace, Logspace, Eye  // creation
    >;

}  // namespace lamella
