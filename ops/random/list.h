#pragma once

#include "ops/op_info.h"
#include "ops/random/distributions.h"
#include "ops/random/in_place.h"
#include "ops/random/random.h"

namespace lamella {

/// Operators that draw random numbers.
using RandomOps = OpList<  //
    Exponential, Laplace, Cauchy, LogNormal, Geometric, TruncatedNormal, Gamma, Poisson, Multinomial, Permutation,
    RandLike, RandnLike,  // distributions
    UniformInPlace, NormalInPlace, ExponentialInPlace, BernoulliInPlace, RandomInPlace, CauchyInPlace, LogNormalInPlace,
    GeometricInPlace,                                                        // in_place
    Rand, Randn, Uniform, Normal, RandInt, RandIntLike, RandPerm, Bernoulli  // random
    >;

}  // namespace lamella
