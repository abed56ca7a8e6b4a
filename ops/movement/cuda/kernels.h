#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "engine/core/dtype.h"
#include "ops/support/strided_loop.h"

namespace lamella::cuda {

// Kernels over a loop without operands in host memory. The loop's pointers are on the current device.

/// Copies operand 0's elements, of `item_bytes` each (1, 2, 4, 8 or 16), to the output.
void launch_copy(const StridedLoop& loop, int item_bytes, cudaStream_t stream);
/// Copies operand 0's elements to the output, converting them.
void launch_cast(const StridedLoop& loop, DType to, DType from, cudaStream_t stream);
/// Sets every element of the output to the one at `value`, in host memory.
void launch_fill(const StridedLoop& loop, int item_bytes, const void* value, cudaStream_t stream);

/// Number of bytes that launch_write() takes at most.
inline constexpr std::size_t kMostWritten = 2048;
/// Writes bytes of host memory, which are read before it returns, to the current device.
void launch_write(void* to, const void* from, std::size_t bytes, cudaStream_t stream);

}  // namespace lamella::cuda
