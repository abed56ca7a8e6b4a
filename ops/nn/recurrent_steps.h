#pragma once

#include <vector>

#include "engine/core/tensor.h"
#include "ops/nn/recurrent_formulas.h"

namespace lamella {

/// True if run_steps() takes the operands: on the CPU, of one dtype that has kernels, and followed by nothing but the
/// tape.
bool takes_steps(const RecurrentSteps& steps);

/// Returns what run_steps_by_operators() does, as one operation, which keeps the products and the states. Its backward
/// computes the gradient of the weight as one product over all steps.
std::vector<Tensor> run_steps(const RecurrentSteps& steps);

}  // namespace lamella
