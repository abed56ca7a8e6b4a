#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "engine/core/device.h"

namespace lamella::cuda {

/// Returns where the kernel that this thread is about to start finds the seed and the counter at which the numbers of a
/// run begin, and makes `offset` the distance from there: see Note [Random numbers of graphs]. Null, with nothing
/// changed, unless the thread's work is captured. Throws RuntimeError for another stream than that of the device's
/// default generator; `op` opens the message.
const std::uint64_t* begin_of_draws(Device device, std::uint64_t seed, std::uint64_t& offset, const char* op);

/// Writes both words, in a stream of the current device.
void write_begin_of_draws(std::uint64_t* to, std::uint64_t seed, std::uint64_t offset, cudaStream_t stream);

}  // namespace lamella::cuda
