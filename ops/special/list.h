#pragma once

#include "ops/op_info.h"
#include "ops/special/bessel.h"
#include "ops/special/incomplete_gamma.h"
#include "ops/special/normal.h"
#include "ops/special/polynomials.h"

namespace lamella {

/// Special functions that have kernels of their own.
using SpecialOps = OpList<  //
    I0, I0e, I1, I1e, ModifiedBesselK0, ModifiedBesselK1, ScaledModifiedBesselK0, ScaledModifiedBesselK1, BesselJ0,
    BesselJ1, BesselY0, BesselY1, SphericalBesselJ0, AiryAi,  // bessel
    GammaInc, GammaIncC,                                      // incomplete_gamma
    Erfcx, Ndtri, LogNdtr, Logit,                             // normal
    ChebyshevT, ChebyshevU, ChebyshevV, ChebyshevW, ShiftedChebyshevT, ShiftedChebyshevU, ShiftedChebyshevV,
    ShiftedChebyshevW, HermiteH, HermiteHe, LaguerreL, LegendreP  // polynomials
    >;

}  // namespace lamella
