#pragma once

#include "ops/fft/fft.h"
#include "ops/fft/stft.h"
#include "ops/op_info.h"

namespace lamella {

/// Fourier transforms.
using FftOps = OpList<                                        //
    FftComplexToComplex, FftRealToComplex, FftComplexToReal,  // fft
    Stft, Istft                                               // stft
    >;

}  // namespace lamella
