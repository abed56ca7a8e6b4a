#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <string_view>
#include <type_traits>

#include "engine/runtime/cuda/check.h"

namespace lamella::cuda {

/// Starts a kernel on the current device, in `stream`, with `shared` bytes of dynamic shared memory; `op` opens the
/// message of a failure.
///
/// A function rather than nvcc's own brackets, so that the files of kernels are C++ to any compiler: those of the
/// emulation, and those that check sources.
template <class... P>
void launch(std::string_view op, void (*kernel)(P...), dim3 grid, dim3 block, std::size_t shared, cudaStream_t stream,
            std::type_identity_t<P>... arguments) {
  void* addresses[sizeof...(P) + 1] = {&arguments...};
  check(cudaLaunchKernel(kernel, grid, block, addresses, shared, stream), op);
}

}  // namespace lamella::cuda
