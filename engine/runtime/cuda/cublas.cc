#include "engine/runtime/cuda/cublas.h"

#include <map>
#include <mutex>
#include <vector>

#include "engine/core/error.h"
#include "engine/runtime/cuda/device_guard.h"
#include "engine/runtime/cuda/stream.h"

namespace lamella::cuda {
namespace {

/// Handles that no thread uses, by device.
struct Pool {
  std::mutex mutex;
  std::map<int, std::vector<cublasHandle_t>> idle;

  // Never destroyed: threads may end after static objects are gone.
  static Pool& instance() {
    static Pool* pool = new Pool;
    return *pool;
  }
};

struct ThreadHandles {
  std::map<int, cublasHandle_t> held;

  ThreadHandles() = default;
  ThreadHandles(const ThreadHandles&) = delete;
  ThreadHandles& operator=(const ThreadHandles&) = delete;
  ~ThreadHandles() {
    Pool& pool = Pool::instance();
    const std::lock_guard lock(pool.mutex);
    for (const auto& [device, handle] : held) pool.idle[device].push_back(handle);
  }

  cublasHandle_t get(Device device) {
    cublasHandle_t& handle = held[device.index];
    if (handle) return handle;
    {
      Pool& pool = Pool::instance();
      const std::lock_guard lock(pool.mutex);
      auto& idle = pool.idle[device.index];
      if (!idle.empty()) {
        handle = idle.back();
        idle.pop_back();
        return handle;
      }
    }
    const DeviceGuard guard(device);
    cublasHandle_t made = nullptr;
    check(cublasCreate(&made), "matmul");
    handle = made;
    return handle;
  }
};

}  // namespace

void check(cublasStatus_t status, std::string_view op) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  fail<RuntimeError>("[", op, "] cuBLAS: ", cublasGetStatusString(status), " (", cublasGetStatusName(status), ")");
}

cublasHandle_t cublas_handle(Device device) {
  thread_local ThreadHandles handles;
  const cublasHandle_t handle = handles.get(device);
  check(cublasSetStream(handle, current_stream(device)), "matmul");
  return handle;
}

}  // namespace lamella::cuda
