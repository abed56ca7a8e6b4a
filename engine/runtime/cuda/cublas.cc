#include "engine/runtime/cuda/cublas.h"

#include <string>

#include "engine/core/error.h"
#include "engine/runtime/cuda/stream.h"
#include "engine/runtime/cuda/thread_handles.h"
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
  thread_local ThreadHandles<cublasHandle_t> handles;
  const cublasHandle_t handle = handles.get(device, [] {
    cublasHandle_t made = nullptr;
    check(cublas().create(&made), "matmul");
    return made;
  });
  check(cublas().set_stream(handle, current_stream(device)), "matmul");
  return handle;
}

}  // namespace lamella::cuda
