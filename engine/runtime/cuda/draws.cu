#include "engine/runtime/cuda/draws.h"
#include "engine/runtime/cuda/launch.h"

namespace lamella::cuda {
namespace {

__global__ void write_kernel(std::uint64_t* to, std::uint64_t seed, std::uint64_t offset) {
  to[0] = seed;
  to[1] = offset;
}

}  // namespace

// A kernel rather than a copy, which from memory that is not page-locked might wait.
void write_begin_of_draws(std::uint64_t* to, std::uint64_t seed, std::uint64_t offset, cudaStream_t stream) {
  launch("CUDAGraph", write_kernel, 1, 1, 0, stream, to, seed, offset);
}

}  // namespace lamella::cuda
