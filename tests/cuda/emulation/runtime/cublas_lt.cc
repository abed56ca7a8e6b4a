#include <cublasLt.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "engine/core/half.h"
#include "tests/cuda/emulation/runtime/matrices.h"
#include "tests/cuda/emulation/runtime/settings.h"

using emulation::element;
using emulation::layout_fits;

namespace {

// What the opaque structs hold. A mark tells those that were initialized.
constexpr std::uint64_t kMark = 0x1A3E11A;

struct Product {
  std::uint64_t mark;
  cublasComputeType_t compute;
  cudaDataType_t scale;
  cublasOperation_t a_operation, b_operation;
  std::uint32_t epilogue;
  void* vector;
};
struct MatrixLayout {
  std::uint64_t mark;
  cudaDataType_t type;
  std::int64_t rows, columns, leading;
};
struct Preference {
  std::uint64_t mark;
  std::uint64_t most_workspace;
  std::uint32_t reductions;
  std::uint32_t alignments[4];
};
/// An algorithm remembers what it was chosen for: arguments of other properties may be beyond a real one.
struct Algorithm {
  std::uint64_t mark;
  std::uint32_t epilogue;
  std::uint32_t alignments[4];
  std::uint32_t vector_alignment;
  std::uint64_t workspace;
};

/// Bytes that an algorithm asks for where it may: it fills them, so that memory that others use meanwhile shows.
constexpr std::uint64_t kWorkspace = 512;

template <class Held, class Opaque>
Held read(const Opaque* from) {
  static_assert(sizeof(Held) <= sizeof(Opaque) && std::is_trivially_copyable_v<Held>);
  Held held;
  std::memcpy(&held, from, sizeof held);
  return held;
}
template <class Held, class Opaque>
void write(Opaque* to, const Held& held) {
  static_assert(sizeof(Held) <= sizeof(Opaque) && std::is_trivially_copyable_v<Held>);
  std::memcpy(to, &held, sizeof held);
}

/// Sets a member from an attribute's value of the same size.
template <class T>
cublasStatus_t set(T& member, const void* value, std::size_t size) {
  if (!value || size != sizeof member) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(&member, value, size);
  return CUBLAS_STATUS_SUCCESS;
}

std::uint32_t alignment_of(const void* address) {
  const auto bits = reinterpret_cast<std::uintptr_t>(address);
  return static_cast<std::uint32_t>(std::min<std::uintptr_t>(256, bits & (~bits + 1)));
}

std::size_t size_of(cudaDataType_t type) { return type == CUDA_R_64F ? 8 : type == CUDA_R_32F ? 4 : 2; }

struct Matrices {
  Product product;
  MatrixLayout a, b, c, d;

  std::int64_t m() const { return d.rows; }
  std::int64_t n() const { return d.columns; }
  std::int64_t k() const { return product.a_operation == CUBLAS_OP_N ? a.columns : a.rows; }
};

/// Returns what is wrong with the descriptors of a product.
cublasStatus_t checked(const Matrices& x) {
  for (const MatrixLayout* layout : {&x.a, &x.b, &x.c, &x.d}) {
    if (layout->mark != kMark) return CUBLAS_STATUS_INVALID_VALUE;
    if (layout->rows < 1 || layout->columns < 1) return CUBLAS_STATUS_INVALID_VALUE;
    if (!layout_fits(CUBLAS_OP_N, layout->rows, layout->columns, layout->leading)) return CUBLAS_STATUS_INVALID_VALUE;
  }
  if (x.product.mark != kMark) return CUBLAS_STATUS_INVALID_VALUE;
  const bool a_fits = (x.product.a_operation == CUBLAS_OP_N ? x.a.rows : x.a.columns) == x.m();
  const bool b_fits = (x.product.b_operation == CUBLAS_OP_N ? x.b.columns : x.b.rows) == x.n() &&
                      (x.product.b_operation == CUBLAS_OP_N ? x.b.rows : x.b.columns) == x.k();
  if (!a_fits || !b_fits || x.c.rows != x.m() || x.c.columns != x.n()) return CUBLAS_STATUS_INVALID_VALUE;
  if (x.a.type != x.b.type || x.a.type != x.d.type || x.c.type != x.d.type) return CUBLAS_STATUS_NOT_SUPPORTED;
  const bool twice = x.a.type == CUDA_R_64F;
  const bool is_real = twice || x.a.type == CUDA_R_32F || x.a.type == CUDA_R_16F || x.a.type == CUDA_R_16BF;
  const bool computes = twice ? x.product.compute == CUBLAS_COMPUTE_64F
                              : x.product.compute == CUBLAS_COMPUTE_32F ||
                                    (x.product.compute == CUBLAS_COMPUTE_32F_FAST_TF32 && x.a.type == CUDA_R_32F);
  if (!is_real || !computes || x.product.scale != (twice ? CUDA_R_64F : CUDA_R_32F)) {
    return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  switch (x.product.epilogue) {
    case CUBLASLT_EPILOGUE_DEFAULT:
      return CUBLAS_STATUS_SUCCESS;
    case CUBLASLT_EPILOGUE_BIAS:
    case CUBLASLT_EPILOGUE_BGRADB:
      return x.product.vector ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
    default:
      return CUBLAS_STATUS_NOT_SUPPORTED;
  }
}

/// Multiplies elements that are read as M, adding in A, into elements T.
template <class M, class T, class A>
cudaError_t multiply(const Matrices& x, const void* alpha_at, const void* a_at, const void* b_at, const void* beta_at,
                     const void* c_at, void* d_at, void* workspace, std::size_t workspace_size, cudaStream_t stream) {
  const A alpha = *static_cast<const A*>(alpha_at);
  const A beta = *static_cast<const A*>(beta_at);
  const auto run = [=] {
    const M* const a = static_cast<const M*>(a_at);
    const M* const b = static_cast<const M*>(b_at);
    const T* const c = static_cast<const T*>(c_at);
    T* const d = static_cast<T*>(d_at);
    T* const vector = static_cast<T*>(x.product.vector);
    std::fill_n(static_cast<unsigned char*>(workspace), workspace_size, 0xA5);
    for (std::int64_t column = 0; column < x.n(); ++column) {
      A column_sum = 0;
      for (std::int64_t i = 0; i < x.k(); ++i)
        column_sum += element<A>(b, x.product.b_operation, x.b.leading, i, column);
      if (x.product.epilogue == CUBLASLT_EPILOGUE_BGRADB) vector[column] = static_cast<T>(column_sum);
      for (std::int64_t row = 0; row < x.m(); ++row) {
        A sum = 0;
        for (std::int64_t i = 0; i < x.k(); ++i) {
          sum += element<A>(a, x.product.a_operation, x.a.leading, row, i) *
                 element<A>(b, x.product.b_operation, x.b.leading, i, column);
        }
        sum *= alpha;
        // With a factor of 0 what c holds is not read: it may be NaN.
        if (beta != 0) sum += beta * static_cast<A>(c[row + column * x.c.leading]);
        if (x.product.epilogue == CUBLASLT_EPILOGUE_BIAS) sum += static_cast<A>(vector[row]);
        d[row + column * x.d.leading] = static_cast<T>(sum);
      }
    }
  };
  return emulation::launch({run, nullptr, dim3(1), dim3(1), 0}, stream);
}

}  // namespace

extern "C" {

cublasStatus_t cublasLtMatmulDescInit_internal(cublasLtMatmulDesc_t product, std::size_t size,
                                               cublasComputeType_t compute, cudaDataType_t scale) {
  if (size < sizeof *product) return CUBLAS_STATUS_INVALID_VALUE;
  write(product, Product{kMark, compute, scale, CUBLAS_OP_N, CUBLAS_OP_N, CUBLASLT_EPILOGUE_DEFAULT, nullptr});
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t product, cublasLtMatmulDescAttributes_t attribute,
                                              const void* value, std::size_t size) {
  auto held = read<Product>(product);
  cublasStatus_t status = CUBLAS_STATUS_INVALID_VALUE;
  if (held.mark != kMark) return status;
  switch (attribute) {
    case CUBLASLT_MATMUL_DESC_TRANSA:
      status = set(held.a_operation, value, size);
      break;
    case CUBLASLT_MATMUL_DESC_TRANSB:
      status = set(held.b_operation, value, size);
      break;
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
      status = set(held.epilogue, value, size);
      break;
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
      status = set(held.vector, value, size);
      break;
  }
  write(product, held);
  return status;
}

cublasStatus_t cublasLtMatrixLayoutInit_internal(cublasLtMatrixLayout_t layout, std::size_t size, cudaDataType_t type,
                                                 std::uint64_t rows, std::uint64_t columns, std::int64_t leading) {
  if (size < sizeof *layout) return CUBLAS_STATUS_INVALID_VALUE;
  write(layout,
        MatrixLayout{kMark, type, static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns), leading});
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceInit_internal(cublasLtMatmulPreference_t preference, std::size_t size) {
  if (size < sizeof *preference) return CUBLAS_STATUS_INVALID_VALUE;
  write(preference, Preference{kMark, 0, 7, {256, 256, 256, 256}});
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute, const void* value,
                                                    std::size_t size) {
  auto held = read<Preference>(preference);
  cublasStatus_t status = CUBLAS_STATUS_INVALID_VALUE;
  if (held.mark != kMark) return status;
  switch (attribute) {
    case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES:
      status = set(held.most_workspace, value, size);
      break;
    case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK:
      status = set(held.reductions, value, size);
      break;
    default:
      status = set(held.alignments[attribute - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES], value, size);
      break;
  }
  write(preference, held);
  return status;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t product,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int asked,
                                              cublasLtMatmulHeuristicResult_t results[], int* found) {
  *found = 0;
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  const Matrices x{read<Product>(product), read<MatrixLayout>(a), read<MatrixLayout>(b), read<MatrixLayout>(c),
                   read<MatrixLayout>(d)};
  const auto wanted = read<Preference>(preference);
  if (asked < 1 || wanted.mark != kMark) return CUBLAS_STATUS_INVALID_VALUE;
  if (const cublasStatus_t status = checked(x); status != CUBLAS_STATUS_SUCCESS) return status;
  if (emulation::settings().refuse_lt) return CUBLAS_STATUS_NOT_SUPPORTED;
  Algorithm algorithm{kMark,
                      x.product.epilogue,
                      {},
                      alignment_of(x.product.vector),
                      wanted.most_workspace >= kWorkspace ? kWorkspace : 0};
  std::ranges::copy(wanted.alignments, algorithm.alignments);
  write(&results[0].algo, algorithm);
  results[0].workspaceSize = algorithm.workspace;
  results[0].state = CUBLAS_STATUS_SUCCESS;
  *found = 1;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t product, const void* alpha, const void* a,
                              cublasLtMatrixLayout_t a_layout, const void* b, cublasLtMatrixLayout_t b_layout,
                              const void* beta, const void* c, cublasLtMatrixLayout_t c_layout, void* d,
                              cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t* chosen, void* workspace,
                              std::size_t workspace_size, cudaStream_t stream) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  const Matrices x{read<Product>(product), read<MatrixLayout>(a_layout), read<MatrixLayout>(b_layout),
                   read<MatrixLayout>(c_layout), read<MatrixLayout>(d_layout)};
  if (const cublasStatus_t status = checked(x); status != CUBLAS_STATUS_SUCCESS) return status;
  if (!chosen) return CUBLAS_STATUS_INVALID_VALUE;
  const auto algorithm = read<Algorithm>(chosen);
  const void* const matrices[] = {a, b, c, d};
  bool fits = algorithm.mark == kMark && algorithm.epilogue == x.product.epilogue;
  for (int i = 0; i < 4; ++i)
    fits = fits && alignment_of(matrices[i]) >= std::max<std::size_t>(algorithm.alignments[i], size_of(x.a.type));
  fits = fits && (!x.product.vector || alignment_of(x.product.vector) >= algorithm.vector_alignment);
  fits = fits && workspace_size >= algorithm.workspace && (algorithm.workspace == 0 || alignment_of(workspace) >= 256);
  if (!fits) return CUBLAS_STATUS_INVALID_VALUE;
  const auto run = [&]<class T, class A, class M = T>() {
    return multiply<M, T, A>(x, alpha, a, b, beta, c, d, workspace, algorithm.workspace, stream);
  };
  cudaError_t error = cudaSuccess;
  switch (x.a.type) {
    case CUDA_R_16F:
      error = run.operator()<lamella::Half, float>();
      break;
    case CUDA_R_16BF:
      error = run.operator()<lamella::BFloat16, float>();
      break;
    case CUDA_R_64F:
      error = run.operator()<double, double>();
      break;
    default:
      error = x.product.compute == CUBLAS_COMPUTE_32F_FAST_TF32 ? run.operator()<float, float, emulation::Tf32>()
                                                                : run.operator()<float, float>();
      break;
  }
  return error == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

}  // extern "C"
