#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ops/cpu/tables/vector_functions.h"
#include "ops/fusion/native/forms.h"
#include "ops/fusion/program.h"

namespace lamella::fusion::native {

/// A compiled program. It computes `vectors` registers of elements: `in` has the address of each input, then of each
/// constant; `out` that of each of result_registers(). Outputs are stored past the caches if `streams` is set; they are
/// then aligned to registers.
using Kernel = void (*)(const char* const* in, char* const* out, cpu::VectorFunctionTable::Address const* functions,
                        long vectors, int streams);

/// Returns the registers that a run of the program writes to memory, each once, in the order of the outputs.
std::vector<int> result_registers(const Program& program);

/// Returns the declarations that kernels for registers of that size stand below.
std::string prelude(int register_bytes);

/// Returns the parameters and the body of the program's kernel in C++; nothing if an operator has no formula, or if the
/// program is too long. All that it says comes from the formulas and the program's structure: constants are read in
/// each run.
std::optional<std::string> kernel_body(const Program& program, const Variant& variant, int register_bytes);

}  // namespace lamella::fusion::native
