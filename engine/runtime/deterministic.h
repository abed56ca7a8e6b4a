#pragma once

namespace lamella {

/// Makes results depend on nothing but their inputs, at the price of speed: not on the number of threads (our own
/// kernels never do; oneDNN's then run on one thread each), and not on the order in which a device's threads come.
/// Operators that have no such form raise RuntimeError. Of the process.
void use_deterministic_algorithms(bool enabled) noexcept;
bool are_deterministic_algorithms_enabled() noexcept;

/// RuntimeError that names `op` and the way out, where deterministic algorithms are asked for: for operators whose
/// results differ from run to run.
void refuse_nondeterministic(const char* op);

}  // namespace lamella
