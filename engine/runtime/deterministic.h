#pragma once

namespace lamella {

/// Makes results depend on their inputs only, at the price of speed: not on the number of threads (our own kernels
/// never do; those of oneDNN and LAPACK then run on one thread each). Process-wide.
///
/// Every operator has such a form, so that none throws: kernels add in an order that the shapes alone determine, also
/// on CUDA, where none uses atomic additions; cuDNN is asked for kernels without them.
void use_deterministic_algorithms(bool enabled) noexcept;
bool are_deterministic_algorithms_enabled() noexcept;

}  // namespace lamella
