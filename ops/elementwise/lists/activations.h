#pragma once

#include "ops/elementwise/gates.h"
#include "ops/elementwise/gelu.h"
#include "ops/elementwise/loss_terms.h"
#include "ops/elementwise/masked_scale.h"
#include "ops/elementwise/predicates.h"
#include "ops/elementwise/rectifiers.h"
#include "ops/elementwise/shrink.h"
#include "ops/elementwise/sigmoid.h"
#include "ops/elementwise/softplus.h"
#include "ops/elementwise/tanh.h"
#include "ops/op_info.h"

namespace lamella {

/// Activations of networks and terms of losses, for floating and complex dtypes.
using ActivationOps = OpList<Tanh, Sigmoid, GeluErf, GeluTanh, LeakyRelu, Elu, Selu, Celu, Hardshrink, Softshrink,
                             Tanhshrink, Silu, Mish, Hardsigmoid, Hardswish, Softplus, LogSigmoid, Softsign,
                             SquaredDifference, SmoothL1, LogLoss, MaskedScale, ReplaceNonfinite>;

}  // namespace lamella
