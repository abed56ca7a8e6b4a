#pragma once

#include "ops/elementwise/clip.h"
#include "ops/elementwise/complex.h"
#include "ops/elementwise/complex_forms.h"
#include "ops/elementwise/composed.h"
#include "ops/elementwise/composed_special.h"
#include "ops/elementwise/frexp.h"
#include "ops/elementwise/gelu.h"
#include "ops/elementwise/in_place.h"
#include "ops/op_info.h"

namespace lamella {

/// Operators composed of elementwise operators, and those that overwrite tensors with their results.
using ComposedOps = OpList<                                                                  //
    Clip,                                                                                    // clip
    RealPart, ImaginaryPart,                                                                 // complex
    MakeComplex, Polar, ViewAsReal, ViewAsComplex,                                           // complex_forms
    Positive, Deg2Rad, Rad2Deg, Polygamma, IsClose, NanToNum,                                // composed
    IsPosInf, IsNegInf, IsReal, Xlog1py, Entr, Ndtr, MvLgamma, Ldexp, FloatPower, Gcd, Lcm,  // composed_special
    Frexp,                                                                                   // frexp
    Gelu,                                                                                    // gelu
    AddInPlace, SubtractInPlace, MultiplyInPlace, DivideInPlace, CopyInPlace, FillInPlace, MaskedFillInPlace,
    ZeroInPlace  // in_place
    >;

}  // namespace lamella
