#include "engine/runtime/cuda/cublas_lt.h"

#include <optional>
#include <string>

#include "engine/core/error.h"
#include "engine/runtime/cuda/cublas.h"
#include "engine/runtime/shared_library.h"

namespace lamella::cuda {
namespace {

std::optional<CublasLt> load() {
  try {
    const SharedLibrary library({.needed = "[linear] fused products on a CUDA device need cuBLASLt",
                                 .files = {"libcublasLt.so." + std::to_string(CUBLAS_VER_MAJOR)}});
    CublasLt functions{};
    library.find("cublasLtMatmul", functions.multiply);
    library.find("cublasLtMatmulAlgoGetHeuristic", functions.find_algorithms);
    library.find("cublasLtMatmulDescInit_internal", functions.init_product);
    library.find("cublasLtMatmulDescSetAttribute", functions.set_product);
    library.find("cublasLtMatrixLayoutInit_internal", functions.init_layout);
    library.find("cublasLtMatmulPreferenceInit_internal", functions.init_preference);
    library.find("cublasLtMatmulPreferenceSetAttribute", functions.set_preference);
    return functions;
  } catch (const RuntimeError&) {
    // Everything that it computes, cuBLAS and other kernels compute in more launches.
    return std::nullopt;
  }
}

}  // namespace

const CublasLt* cublas_lt() {
  static const std::optional<CublasLt> functions = load();
  return functions ? &*functions : nullptr;
}

// A handle of cuBLAS holds one of cuBLASLt and, as its documentation says, may be cast to it.
cublasLtHandle_t cublas_lt_handle(Device device) { return reinterpret_cast<cublasLtHandle_t>(cublas_handle(device)); }

}  // namespace lamella::cuda
