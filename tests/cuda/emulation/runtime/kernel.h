#pragma once

#include <cuda_runtime.h>

#include <string>

namespace emulation {

/// Runs all threads of a kernel on a device; returns what became of it, an error that stays with the device's process.
cudaError_t run_kernel(const Kernel& kernel, int device);

/// Returns the kernel's name, or, where the linker knows none, its place in a file, which addr2line takes.
std::string name_of(const Kernel& kernel);

/// Installs the handler of faults at device memory, unless it is the one that the process has.
void watch_faults();

}  // namespace emulation
