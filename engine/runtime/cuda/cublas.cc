#include "engine/runtime/cuda/cublas.h"

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "engine/core/error.h"
#include "engine/runtime/cuda/device_guard.h"
#include "engine/runtime/cuda/stream.h"
#include "engine/runtime/shared_library.h"

namespace lamella::cuda {
namespace {

Cublas load() {
  const SharedLibrary library({.needed = "[matmul] products on a CUDA device need cuBLAS",
                               .files = {"libcublas.so." + std::to_string(CUBLAS_VER_MAJOR)}});
  Cublas functions{};
  library.find("cublasCreate_v2", functions.create);
  library.find("cublasSetStream_v2", functions.set_stream);
  library.find("cublasGemmStridedBatchedEx_64", functions.multiply);
  library.find("cublasGetStatusName", functions.status_name);
  library.find("cublasGetStatusString", functions.status_text);
  return functions;
}

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
    check(cublas().create(&made), "matmul");
    handle = made;
    return handle;
  }
};

}  // namespace

const Cublas& cublas() {
  static const Cublas functions = load();
  return functions;
}

void check(cublasStatus_t status, std::string_view op) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  fail<RuntimeError>("[", op, "] cuBLAS: ", cublas().status_text(status), " (", cublas().status_name(status), ")");
}

cublasHandle_t cublas_handle(Device device) {
  thread_local ThreadHandles handles;
  const cublasHandle_t handle = handles.get(device);
  check(cublas().set_stream(handle, current_stream(device)), "matmul");
  return handle;
}

}  // namespace lamella::cuda
