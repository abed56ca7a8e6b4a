#include "engine/core/allocator.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "engine/runtime/cuda/check.h"
#include "engine/runtime/cuda/device_guard.h"

namespace lamella::cuda {
namespace {

/// False if LAMELLA_NO_CUDA_MEMORY_CACHE is set: for compute-sanitizer and the emulation, which see a write behind the
/// end of a tensor only where nothing else of the process's lies there.
bool keeps_memory() {
  const char* const value = std::getenv("LAMELLA_NO_CUDA_MEMORY_CACHE");
  return !value || std::string_view(value).empty() || std::string_view(value) == "0";
}

class CudaAllocator final : public CachingAllocator {
 public:
  explicit CudaAllocator(Device device) : CachingAllocator(device, keeps_memory()), device_(device) {}

 protected:
  void* system_allocate(std::size_t bytes) override {
    const DeviceGuard guard(device_);
    void* pointer = nullptr;
    // For no bytes, CUDA gives no address.
    const cudaError_t status = cudaMalloc(&pointer, std::max(bytes, std::size_t{1}));
    if (status == cudaErrorMemoryAllocation) {
      cudaGetLastError();
      return nullptr;
    }
    check(status, "allocate");
    return pointer;
  }

  // Ignores errors: while the process ends, the driver may be gone before the last tensor.
  void system_free(void* pointer) noexcept override {
    on_device([&] { static_cast<void>(cudaFree(pointer)); });
  }
  void synchronize() noexcept override {
    on_device([] { static_cast<void>(cudaDeviceSynchronize()); });
  }
  void wait_for(void* waiting, void* working) noexcept override {
    on_device([&] {
      // Captured work is not done yet; a graph's memory is held for it.
      cudaStreamCaptureStatus captured = cudaStreamCaptureStatusNone;
      static_cast<void>(cudaStreamIsCapturing(static_cast<cudaStream_t>(working), &captured));
      if (captured != cudaStreamCaptureStatusNone) return;
      cudaEvent_t event = nullptr;
      bool ordered = cudaEventCreateWithFlags(&event, cudaEventDisableTiming) == cudaSuccess;
      ordered = ordered && cudaEventRecord(event, static_cast<cudaStream_t>(working)) == cudaSuccess &&
                cudaStreamWaitEvent(static_cast<cudaStream_t>(waiting), event, 0) == cudaSuccess;
      if (event) static_cast<void>(cudaEventDestroy(event));
      if (!ordered) static_cast<void>(cudaDeviceSynchronize());
    });
  }

 private:
  template <class F>
  void on_device(F&& call) noexcept {
    int previous = 0;
    if (cudaGetDevice(&previous) != cudaSuccess || cudaSetDevice(device_.index) != cudaSuccess) return;
    call();
    static_cast<void>(cudaSetDevice(previous));
  }

  Device device_;
};

[[maybe_unused]] const bool kRegistered = [] {
  register_allocator(DeviceType::CUDA, [](Device device) -> CachingAllocator* {
    check_device(device);
    return new CudaAllocator(device);
  });
  return true;
}();

}  // namespace
}  // namespace lamella::cuda
