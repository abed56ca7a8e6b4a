#pragma once

#include "ops/elementwise/lists/activations.h"
#include "ops/elementwise/lists/arithmetic.h"
#include "ops/elementwise/lists/functions.h"

namespace lamella {

/// The elementwise operators, in lists whose kernels are compiled separately: see cmake/elementwise.cmake.
using ElementwiseLists = OperatorListsOf<ArithmeticOps, FunctionOps, ActivationOps>;

/// All elementwise operators; kernels on every device, bindings, docs and tests are generated for each.
using ElementwiseOps = ElementwiseLists::Joined;

}  // namespace lamella
