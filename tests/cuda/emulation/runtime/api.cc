#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "tests/cuda/emulation/runtime/kernel.h"
#include "tests/cuda/emulation/runtime/memory.h"
#include "tests/cuda/emulation/runtime/streams.h"

// The functions of CUDA's runtime that concern devices, memory and launches.

namespace emulation {
namespace {

constexpr unsigned kMaxThreads = 1024;
constexpr std::size_t kPlainSharedBytes = std::size_t{48} << 10;
constexpr std::size_t kMaxSharedBytes = std::size_t{227} << 10;

/// Locked for a call of the interface, whose errors are noted.
template <class F>
cudaError_t call(F&& f) {
  const std::lock_guard guard(lock());
  if (!usable()) return noted(cudaErrorInitializationError);
  if (sticky_error() != cudaSuccess) return noted(sticky_error());
  return noted(f());
}

/// Memory of cudaMallocHost(), with its size: copies from and to it do not hold up the host.
std::map<const void*, std::size_t>& pinned() {
  static auto* const memory = new std::map<const void*, std::size_t>;
  return *memory;
}
bool is_pinned(const void* pointer) {
  const auto following = pinned().upper_bound(pointer);
  if (following == pinned().begin()) return false;
  const auto& [start, bytes] = *std::prev(following);
  return static_cast<const char*>(pointer) < static_cast<const char*>(start) + bytes;
}

/// True if the bytes are memory of a device; `wanted` is what the call says of them.
bool is_right(const void* pointer, std::size_t bytes, bool wanted) {
  const Memory& memory = Memory::instance();
  if (!wanted) return !memory.is_device_address(pointer);
  return memory.find(pointer, bytes) != nullptr;
}

cudaMemcpyKind kind_of(const void* to, const void* from) {
  const Memory& memory = Memory::instance();
  const bool from_device = memory.is_device_address(from);
  if (memory.is_device_address(to)) return from_device ? cudaMemcpyDeviceToDevice : cudaMemcpyHostToDevice;
  return from_device ? cudaMemcpyDeviceToHost : cudaMemcpyHostToHost;
}

cudaError_t copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream, bool wait) {
  if (bytes == 0) return cudaSuccess;
  if (kind == cudaMemcpyDefault) kind = kind_of(to, from);
  const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  if (!is_right(to, bytes, to_device) || !is_right(from, bytes, from_device)) return cudaErrorInvalidValue;
  count(to_device ? (from_device ? kDeviceToDevice : kHostToDevice) : kDeviceToHost);
  count(kCopiedBytes, bytes);
  Memory& memory = Memory::instance();
  char* const target = to_device ? memory.alias(to) : static_cast<char*>(to);
  if (kind == cudaMemcpyHostToDevice && !is_pinned(from)) {
    // The bytes are on their way when the call returns, wherever the copy ends.
    const auto* const bytes_of = static_cast<const char*>(from);
    auto staged = std::make_shared<std::vector<char>>(bytes_of, bytes_of + bytes);
    const cudaError_t status = enqueue(stream, [target, staged] {
      std::memcpy(target, staged->data(), staged->size());
      return cudaSuccess;
    });
    if (wait) drain(stream);
    return status;
  }
  const char* const source = from_device ? memory.alias(from) : static_cast<const char*>(from);
  const cudaError_t status = enqueue(stream, [target, source, bytes] {
    std::memmove(target, source, bytes);
    return cudaSuccess;
  });
  if (wait || (kind == cudaMemcpyDeviceToHost && !is_pinned(to))) drain(stream);
  return status != cudaSuccess ? status : sticky_error();
}

/// Bytes of dynamic shared memory for the kernels that may ask for more than others.
std::map<const void*, std::size_t>& large_kernels() {
  static auto* const kernels = new std::map<const void*, std::size_t>;
  return *kernels;
}
std::size_t most_shared(const void* kernel) {
  const auto found = large_kernels().find(kernel);
  return found == large_kernels().end() ? kPlainSharedBytes : found->second;
}

bool is_device(int device) { return device >= 0 && device < Memory::instance().device_count(); }

}  // namespace

cudaError_t launch(Kernel kernel, cudaStream_t stream) {
  return call([&] {
    const auto threads = std::uint64_t{kernel.block.x} * kernel.block.y * kernel.block.z;
    const dim3 grid = kernel.grid;
    constexpr unsigned kMaxBlocks = 65535;
    if (threads == 0 || threads > kMaxThreads || kernel.block.z > 64 || grid.x == 0 || grid.y == 0 || grid.z == 0 ||
        grid.x > 0x7fffffffu || grid.y > kMaxBlocks || grid.z > kMaxBlocks) {
      return cudaErrorInvalidConfiguration;
    }
    if (kernel.shared > most_shared(kernel.code)) return cudaErrorInvalidValue;
    count(kLaunches);
    const int device = device_of(stream);
    // A kernel runs on its stream's device, which has to be the current one.
    if (device != current_device()) return cudaErrorInvalidResourceHandle;
    const cudaError_t status =
        enqueue(stream, [kernel = std::move(kernel), device] { return run_kernel(kernel, device); });
    return status;
  });
}

}  // namespace emulation

using emulation::call;
using emulation::count;
using emulation::current_device;
using emulation::Memory;

extern "C" {

cudaError_t cudaGetDeviceCount(int* devices) {
  *devices = 0;
  return call([&] {
    *devices = Memory::instance().device_count();
    return *devices > 0 ? cudaSuccess : cudaErrorNoDevice;
  });
}
cudaError_t cudaGetDevice(int* device) {
  *device = current_device();
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  return call([&] {
    if (!emulation::is_device(device)) return cudaErrorInvalidDevice;
    current_device() = device;
    return cudaSuccess;
  });
}
cudaError_t cudaDeviceSynchronize() {
  return call([] {
    if (emulation::captures(current_device())) return cudaErrorStreamCaptureUnsupported;
    count(emulation::kWaits);
    emulation::drain_device(current_device());
    return emulation::sticky_error();
  });
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  return call([&] {
    if (!emulation::is_device(device)) return cudaErrorInvalidDevice;
    *properties = {.name = "Emulated GPU",
                   .totalGlobalMem = Memory::instance().limit(),
                   .major = 9,
                   .minor = 0,
                   .multiProcessorCount = 4};
    return cudaSuccess;
  });
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  return call([&] {
    if (!emulation::is_device(device)) return cudaErrorInvalidDevice;
    static const std::map<cudaDeviceAttr, int> attributes{{cudaDevAttrMaxThreadsPerBlock, 1024},
                                                          {cudaDevAttrMaxSharedMemoryPerBlock, 48 << 10},
                                                          {cudaDevAttrWarpSize, 32},
                                                          {cudaDevAttrMultiProcessorCount, 4},
                                                          {cudaDevAttrComputeCapabilityMajor, 9},
                                                          {cudaDevAttrComputeCapabilityMinor, 0}};
    const auto found = attributes.find(attribute);
    if (found == attributes.end()) return cudaErrorInvalidValue;
    *value = found->second;
    return cudaSuccess;
  });
}
cudaError_t cudaDeviceGetPCIBusId(char* id, int length, int device) {
  return call([&] {
    if (!id || !emulation::is_device(device)) return cudaErrorInvalidValue;
    std::snprintf(id, static_cast<std::size_t>(length), "0000:%02x:00.0", device + 1);
    return cudaSuccess;
  });
}
cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value) {
  return call([&] {
    if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize || value < 0 ||
        static_cast<std::size_t>(value) > emulation::kMaxSharedBytes) {
      return cudaErrorInvalidValue;
    }
    emulation::large_kernels()[kernel] = static_cast<std::size_t>(value);
    return cudaSuccess;
  });
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** pointer, std::size_t bytes) {
  return call([&] {
    emulation::watch_faults();
    *pointer = Memory::instance().allocate(current_device(), bytes);
    if (!*pointer) return cudaErrorMemoryAllocation;
    count(emulation::kAllocations);
    return cudaSuccess;
  });
}
cudaError_t cudaFree(void* pointer) {
  if (!pointer) return cudaSuccess;
  return call([&] {
    // Work that is queued may still use the memory.
    for (int device = 0; device < Memory::instance().device_count(); ++device) emulation::drain_device(device);
    return Memory::instance().release(pointer) ? cudaSuccess : cudaErrorInvalidValue;
  });
}
cudaError_t cudaHostAlloc(void** pointer, std::size_t bytes, unsigned) {
  return call([&] {
    *pointer = std::malloc(bytes);
    if (!*pointer) return cudaErrorMemoryAllocation;
    emulation::pinned()[*pointer] = bytes;
    return cudaSuccess;
  });
}
cudaError_t cudaMallocHost(void** pointer, std::size_t bytes) { return cudaHostAlloc(pointer, bytes, 0); }
cudaError_t cudaFreeHost(void* pointer) {
  return call([&] {
    if (emulation::pinned().erase(pointer) == 0) return cudaErrorInvalidValue;
    for (int device = 0; device < Memory::instance().device_count(); ++device) emulation::drain_device(device);
    std::free(pointer);
    return cudaSuccess;
  });
}
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  return call([&] {
    *free = Memory::instance().free_bytes(current_device());
    *total = Memory::instance().limit();
    return cudaSuccess;
  });
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  return call([&] {
    *attributes = {cudaMemoryTypeUnregistered, -1, nullptr, const_cast<void*>(pointer)};
    if (const emulation::Allocation* const found = Memory::instance().find(pointer, 1)) {
      *attributes = {cudaMemoryTypeDevice, found->device, const_cast<void*>(pointer), nullptr};
    } else if (emulation::is_pinned(pointer)) {
      *attributes = {cudaMemoryTypeHost, current_device(), const_cast<void*>(pointer), const_cast<void*>(pointer)};
    }
    return cudaSuccess;
  });
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  return call([&] { return emulation::copy(to, from, bytes, kind, stream, false); });
}
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  return call([&] {
    count(emulation::kWaits);
    return emulation::copy(to, from, bytes, kind, nullptr, true);
  });
}
cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, std::size_t bytes,
                                cudaStream_t stream) {
  return call([&] {
    const emulation::Allocation* const source = Memory::instance().find(from, bytes);
    const emulation::Allocation* const target = Memory::instance().find(to, bytes);
    if (bytes > 0 && (!source || !target || source->device != from_device || target->device != to_device)) {
      return cudaErrorInvalidValue;
    }
    return emulation::copy(to, from, bytes, cudaMemcpyDeviceToDevice, stream, false);
  });
}
cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream) {
  return call([&] {
    if (bytes == 0) return cudaSuccess;
    if (!Memory::instance().find(to, bytes)) return cudaErrorInvalidValue;
    count(emulation::kFills);
    return emulation::enqueue(stream, [target = Memory::instance().alias(to), value, bytes] {
      std::memset(target, value, bytes);
      return cudaSuccess;
    });
  });
}
cudaError_t cudaMemset(void* to, int value, std::size_t bytes) { return cudaMemsetAsync(to, value, bytes, nullptr); }

namespace {

struct ErrorText {
  const char* name;
  const char* text;
};
ErrorText describe(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return {"cudaSuccess", "no error"};
    case cudaErrorInvalidValue:
      return {"cudaErrorInvalidValue", "invalid argument"};
    case cudaErrorMemoryAllocation:
      return {"cudaErrorMemoryAllocation", "out of memory"};
    case cudaErrorInitializationError:
      return {"cudaErrorInitializationError", "initialization error"};
    case cudaErrorInvalidConfiguration:
      return {"cudaErrorInvalidConfiguration", "invalid configuration argument"};
    case cudaErrorInvalidMemcpyDirection:
      return {"cudaErrorInvalidMemcpyDirection", "invalid copy direction for memcpy"};
    case cudaErrorNoDevice:
      return {"cudaErrorNoDevice", "no CUDA-capable device is detected"};
    case cudaErrorInvalidDevice:
      return {"cudaErrorInvalidDevice", "invalid device ordinal"};
    case cudaErrorInvalidResourceHandle:
      return {"cudaErrorInvalidResourceHandle", "invalid resource handle"};
    case cudaErrorNotReady:
      return {"cudaErrorNotReady", "device not ready"};
    case cudaErrorIllegalAddress:
      return {"cudaErrorIllegalAddress", "an illegal memory access was encountered"};
    case cudaErrorLaunchFailure:
      return {"cudaErrorLaunchFailure", "unspecified launch failure"};
    case cudaErrorIllegalState:
      return {"cudaErrorIllegalState", "the operation cannot be performed in the present state"};
    case cudaErrorStreamCaptureUnsupported:
      return {"cudaErrorStreamCaptureUnsupported", "operation not permitted when stream is capturing"};
    case cudaErrorStreamCaptureInvalidated:
      return {"cudaErrorStreamCaptureInvalidated", "operation failed due to a previous error during capture"};
    case cudaErrorStreamCaptureIsolation:
      return {"cudaErrorStreamCaptureIsolation", "dependency created on uncaptured work in another stream"};
  }
  return {"cudaErrorUnknown", "unknown error"};
}

}  // namespace

const char* cudaGetErrorName(cudaError_t error) { return describe(error).name; }
const char* cudaGetErrorString(cudaError_t error) { return describe(error).text; }

}  // extern "C"
