#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>

#include "tests/cuda/emulation/runtime/image.h"

// CUDA's driver: the functions that Lamella calls, in terms of the runtime's. Their errors are the runtime's, whose
// numbers are the driver's, too, but for launches of a size that no device has.

namespace {

constexpr int kInvalidImage = 200;
constexpr int kNotFound = 500;
constexpr unsigned kPlainShared = 48u << 10;
constexpr int kMostShared = 227 << 10;

struct Function {
  emulation::Launcher* launch;
  unsigned most_shared = kPlainShared;
};

int as_driver(cudaError_t status) { return status == cudaErrorInvalidConfiguration ? cudaErrorInvalidValue : status; }

}  // namespace

extern "C" {

int cuGetErrorName(int result, const char** name) {
  *name = result == kInvalidImage ? "CUDA_ERROR_INVALID_IMAGE"
          : result == kNotFound   ? "CUDA_ERROR_NOT_FOUND"
                                  : cudaGetErrorName(static_cast<cudaError_t>(result));
  return cudaSuccess;
}
int cuGetErrorString(int result, const char** text) {
  *text = result == kInvalidImage ? "device kernel image is invalid"
          : result == kNotFound   ? "named symbol not found"
                                  : cudaGetErrorString(static_cast<cudaError_t>(result));
  return cudaSuccess;
}

int cuDeviceGet(int* device, int index) {
  *device = index;
  return cudaSuccess;
}
/// A context is the number of its device, from 1 on.
int cuDevicePrimaryCtxRetain(std::uintptr_t* context, int device) {
  *context = static_cast<std::uintptr_t>(device) + 1;
  return cudaSuccess;
}
int cuCtxSetCurrent(std::uintptr_t context) { return as_driver(cudaSetDevice(static_cast<int>(context) - 1)); }

int cuModuleLoadData(void** module, const void* image) {
  const std::string library = emulation::library_of(image);
  std::string path = std::filesystem::temp_directory_path() / "emulated-module-XXXXXX";
  const int file = mkstemp(path.data());
  if (file < 0) return kInvalidImage;
  const bool written = write(file, library.data(), library.size()) == static_cast<ssize_t>(library.size());
  close(file);
  *module = written ? dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
  if (!*module) std::fprintf(stderr, "emulation: %s\n", written ? dlerror() : "a module cannot be written");
  unlink(path.c_str());
  return *module ? static_cast<int>(cudaSuccess) : kInvalidImage;
}
int cuModuleGetFunction(Function** function, void* module, const char* name) {
  void* const found = dlsym(module, name);
  if (!found) return kNotFound;
  *function = new Function{reinterpret_cast<emulation::Launcher*>(found)};
  return cudaSuccess;
}

int cuFuncSetAttribute(Function* function, int attribute, int value) {
  constexpr int kMaxDynamicShared = 8;
  if (attribute != kMaxDynamicShared || value < 0 || value > kMostShared) return cudaErrorInvalidValue;
  function->most_shared = static_cast<unsigned>(value);
  return cudaSuccess;
}

int cuLaunchKernel(Function* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                   unsigned block_y, unsigned block_z, unsigned shared, cudaStream_t stream, void** arguments, void**) {
  if (shared > function->most_shared) return cudaErrorInvalidValue;
  return as_driver(function->launch({grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, arguments, shared, stream));
}

}  // extern "C"
