#pragma once

#include "ops/movement/cast.h"
#include "ops/op_info.h"

namespace lamella {

/// Operators that copy and convert whole tensors.
using MovementOps = OpList<                    //
    Cast, AsType, Clone, Contiguous, ToDevice  // cast
    >;

}  // namespace lamella
