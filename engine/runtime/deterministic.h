#pragma once

namespace lamella {

/// Makes results depend on nothing but their inputs, at the price of speed: not on the number of threads (our own
/// kernels never do; oneDNN's and LAPACK's then run on one thread each). Of the process.
///
/// Every operator has such a form, so that none raises: kernels add in an order that the shapes alone decide, on CUDA
/// too, where none uses atomic additions.
void use_deterministic_algorithms(bool enabled) noexcept;
bool are_deterministic_algorithms_enabled() noexcept;

}  // namespace lamella
