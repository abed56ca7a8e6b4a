#pragma once

#include "ops/movement/cast.h"
#include "ops/movement/in_place.h"
#include "ops/op_info.h"

namespace lamella {

/// Operators that copy, convert and overwrite whole tensors.
using MovementOps = OpList<                     //
    Cast, AsType, Clone, Contiguous, ToDevice,  // cast
    AddInPlace, SubtractInPlace, MultiplyInPlace, DivideInPlace, CopyInPlace, FillInPlace, MaskedFillInPlace,
    ZeroInPlace  // in_place
    >;

}  // namespace lamella
