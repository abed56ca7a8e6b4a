#pragma once

#include <cstddef>

namespace lamella {

/// Sets whether CUDA devices may use cuDNN where it is installed (they may, initially), process-wide. What it computes,
/// kernels of the library compute, too, in more memory traffic.
void set_cudnn_enabled(bool enabled) noexcept;
bool is_cudnn_enabled() noexcept;

/// Returns the version of the cuDNN that is installed, 91002 for 9.10.2, loading it with the first call; 0 if there is
/// none, or the build has no CUDA.
std::size_t cudnn_version();
/// Sets what finds the version, when the library that knows cuDNN loads.
void register_cudnn(std::size_t (*version)());

}  // namespace lamella
