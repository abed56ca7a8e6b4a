#pragma once

#include <optional>
#include <string>

#include "ops/fusion/native/forms.h"
#include "ops/fusion/program.h"

// Note [Programs on devices]
// On a CUDA device a fused program is one kernel, in which a thread computes an element at a time and keeps what lies
// between in registers. Its source has the lines that the kernels for the CPU have (lines.cc), with CUDA's functions,
// which are those of the eager kernels, so that results are theirs. It is compiled as users' kernels are
// (engine/runtime/source_kernels.h), before a run; a program that cannot be had, or has not run before, goes operator
// by operator.

namespace lamella::fusion::native {

/// Name of the kernel in the source of a program.
inline constexpr const char* kDeviceKernel = "lamella_fused";

/// Returns the source of a program in CUDA C++: a kernel of the number of elements (long long), the addresses of the
/// inputs, the constants, and the addresses of result_registers(). Nothing if an operator has no formula, or calls a
/// function that CUDA does not have.
std::optional<std::string> device_source(const Program& program, const Variant& variant);

}  // namespace lamella::fusion::native
