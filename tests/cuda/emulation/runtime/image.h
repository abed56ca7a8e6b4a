#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

namespace emulation {

// Machine code in the emulation is a shared library, behind its size, as the driver is given an address alone.

inline std::string as_image(const std::string& library) {
  const std::uint64_t bytes = library.size();
  std::string image(sizeof bytes, '\0');
  std::memcpy(image.data(), &bytes, sizeof bytes);
  return image + library;
}

inline std::string library_of(const void* image) {
  std::uint64_t bytes = 0;
  std::memcpy(&bytes, image, sizeof bytes);
  return {static_cast<const char*>(image) + sizeof bytes, bytes};
}

/// A function in such a library, which launches a kernel.
using Launcher = cudaError_t(dim3 grid, dim3 block, void** arguments, std::size_t shared, cudaStream_t stream);

}  // namespace emulation
