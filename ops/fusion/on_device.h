#pragma once

#include <span>
#include <vector>

#include "ops/fusion/program.h"

namespace lamella::fusion {

/// True if run_on_device() takes a program and tensors of a CUDA device, for which fits() is true: its kernel is there,
/// or is compiled now. See Note [Programs on devices].
bool has_kernel(const Program& program, std::span<const Tensor> inputs);

/// Runs such a program as one kernel; returns its outputs, undefined ones for -1.
std::vector<Tensor> run_on_device(const Program& program, std::span<const Tensor> inputs);

}  // namespace lamella::fusion
