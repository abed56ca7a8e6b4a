#pragma once

#include <span>
#include <vector>

#include "ops/fusion/program.h"

namespace lamella::fusion {

/// The tensors in which a run leaves its results.
struct Outputs {
  /// The program's outputs, undefined ones for -1.
  std::vector<Tensor> all;
  /// For each register, its tensor if it is a result that is an output.
  std::vector<Tensor> of_register;
};

/// Allocates what a run on `inputs` writes, of one shape; an output that is an input is a view of it.
Outputs make_outputs(const Program& program, std::span<const Tensor> inputs, const Dims& shape, DType dtype,
                     Device device);

}  // namespace lamella::fusion
