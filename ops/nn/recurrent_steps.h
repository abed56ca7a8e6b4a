#pragma once

#include <array>
#include <vector>

#include "engine/core/tensor.h"
#include "ops/nn/recurrent_formulas.h"

namespace lamella {

/// Operands of one step, contiguous: products of x and of h with the weights, [sequences, gates * hidden], and state
/// and memory before the step, [sequences, hidden]. The memory is undefined for a cell without one.
struct CellOperands {
  CellKind kind;
  Tensor from_x;
  Tensor from_h;
  Tensor h;
  Tensor c;
};

/// Gradients that come into a step and those that leave it; contiguous, undefined where there are none.
struct CellArrows {
  std::array<Tensor, 3> dh;  ///< parts of the gradient of the next state
  Tensor dc;                 ///< gradient of the next memory, to be replaced by that of the memory before the step
  Tensor dfrom_x;            ///< gradient of from_x; that of from_h as well where `dfrom_h` is undefined
  Tensor dfrom_h;
  Tensor directly;  ///< gradient of h that does not flow through from_h
  Tensor next_c;    ///< memory after the step
};

/// True if run_steps() takes the operands: on one device that has kernels, of one dtype that they take, and followed by
/// nothing but the tape.
bool takes_steps(const RecurrentSteps& steps);

/// Returns what run_steps_by_operators() does, as one operation, which keeps the products and the states. Its backward
/// computes the gradient of the weight as one product over all steps.
std::vector<Tensor> run_steps(const RecurrentSteps& steps);

}  // namespace lamella
