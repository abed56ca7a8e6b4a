#include <cublasLt.h>
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "tests/cuda/emulation/runtime/matrices.h"

// The emulated cuBLASLt computes what the real one documents, and refuses what that refuses.

namespace {

constexpr std::int64_t kM = 2;
constexpr std::int64_t kN = 3;
constexpr std::int64_t kK = 4;

/// Device memory of floats 0, 1, ..., freed at the end; `data` begins some elements behind its start.
struct Floats {
  float* memory = nullptr;
  float* data = nullptr;
  std::size_t count;

  explicit Floats(std::size_t n, std::size_t offset = 0) : count(n) {
    std::vector<float> numbers(n + offset);
    for (std::size_t i = 0; i < n; ++i) numbers[i + offset] = static_cast<float>(i);
    const std::size_t bytes = numbers.size() * sizeof(float);
    EXPECT_EQ(cudaMalloc(reinterpret_cast<void**>(&memory), bytes), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(memory, numbers.data(), bytes, cudaMemcpyHostToDevice), cudaSuccess);
    data = memory + offset;
  }
  ~Floats() { cudaFree(memory); }
  Floats(const Floats&) = delete;
  Floats& operator=(const Floats&) = delete;

  std::vector<float> values() const {
    std::vector<float> result(count);
    EXPECT_EQ(cudaMemcpy(result.data(), data, count * sizeof(float), cudaMemcpyDeviceToHost), cudaSuccess);
    return result;
  }
};

/// A product of column-major matrices [kM, kK] and [kK, kN], with all descriptors.
struct Product {
  EmulatedCublas handle;
  cublasLtMatmulDescOpaque_t product{};
  cublasLtMatrixLayoutOpaque_t a{};
  cublasLtMatrixLayoutOpaque_t b{};
  cublasLtMatrixLayoutOpaque_t d{};
  cublasLtMatmulPreferenceOpaque_t preference{};
  cublasLtMatmulHeuristicResult_t chosen{};

  explicit Product(cublasLtEpilogue_t epilogue, const float* vector, cudaDataType_t scale = CUDA_R_32F) {
    EXPECT_EQ(cublasLtMatmulDescInit_internal(&product, sizeof product, CUBLAS_COMPUTE_32F, scale),
              CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, vector), CUBLAS_STATUS_SUCCESS);
    layout(a, kM, kK, kM);
    layout(b, kK, kN, kK);
    layout(d, kM, kN, kM);
    EXPECT_EQ(cublasLtMatmulPreferenceInit_internal(&preference, sizeof preference), CUBLAS_STATUS_SUCCESS);
  }

  template <class T>
  cublasStatus_t set(cublasLtMatmulDescAttributes_t attribute, const T& value) {
    return cublasLtMatmulDescSetAttribute(&product, attribute, &value, sizeof value);
  }
  template <class T>
  cublasStatus_t prefer(cublasLtMatmulPreferenceAttributes_t attribute, const T& value) {
    return cublasLtMatmulPreferenceSetAttribute(&preference, attribute, &value, sizeof value);
  }
  static void layout(cublasLtMatrixLayoutOpaque_t& to, std::int64_t rows, std::int64_t columns, std::int64_t leading) {
    EXPECT_EQ(cublasLtMatrixLayoutInit_internal(&to, sizeof to, CUDA_R_32F, static_cast<std::uint64_t>(rows),
                                                static_cast<std::uint64_t>(columns), leading),
              CUBLAS_STATUS_SUCCESS);
  }
  cublasStatus_t choose() {
    int found = 0;
    const cublasStatus_t status =
        cublasLtMatmulAlgoGetHeuristic(&handle, &product, &a, &b, &d, &d, &preference, 1, &chosen, &found);
    EXPECT_EQ(found, status == CUBLAS_STATUS_SUCCESS ? 1 : 0);
    return status;
  }
  cublasStatus_t run(const float* left, const float* right, float* to, void* workspace = nullptr,
                     std::size_t bytes = 0) {
    const float one = 1;
    const float zero = 0;
    return cublasLtMatmul(&handle, &product, &one, left, &a, right, &b, &zero, to, &d, to, &d, &chosen.algo, workspace,
                          bytes, nullptr);
  }
};

/// a b for the numbers 0, 1, ... in both.
const std::vector<float> kProduct{28, 34, 76, 98, 124, 162};

TEST(EmulatedCublasLt, AddsABiasToEachColumn) {
  const Floats a(kM * kK), b(kK * kN), d(kM * kN), bias(kM);
  Product product(CUBLASLT_EPILOGUE_BIAS, bias.data);
  ASSERT_EQ(product.choose(), CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(product.run(a.data, b.data, d.data), CUBLAS_STATUS_SUCCESS);
  std::vector<float> want = kProduct;
  for (std::size_t i = 1; i < want.size(); i += kM) want[i] += 1;
  EXPECT_EQ(d.values(), want);
}

TEST(EmulatedCublasLt, SumsTheColumnsOfB) {
  const Floats a(kM * kK), b(kK * kN), d(kM * kN), sums(kN);
  Product product(CUBLASLT_EPILOGUE_BGRADB, sums.data);
  ASSERT_EQ(product.choose(), CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(product.run(a.data, b.data, d.data), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(d.values(), kProduct);
  EXPECT_EQ(sums.values(), (std::vector<float>{6, 22, 38}));
}

TEST(EmulatedCublasLt, FindsNoAlgorithmForDescriptorsThatDoNotFit) {
  const Floats bias(kM);
  Product none(CUBLASLT_EPILOGUE_BIAS, nullptr);
  EXPECT_EQ(none.choose(), CUBLAS_STATUS_NOT_SUPPORTED);
  Product scaled(CUBLASLT_EPILOGUE_BIAS, bias.data, CUDA_R_64F);
  EXPECT_EQ(scaled.choose(), CUBLAS_STATUS_NOT_SUPPORTED);
  Product short_columns(CUBLASLT_EPILOGUE_BIAS, bias.data);
  Product::layout(short_columns.a, kM, kK, kM - 1);
  EXPECT_EQ(short_columns.choose(), CUBLAS_STATUS_INVALID_VALUE);
  Product turned(CUBLASLT_EPILOGUE_BIAS, bias.data);
  EXPECT_EQ(turned.set(CUBLASLT_MATMUL_DESC_TRANSB, CUBLAS_OP_T), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(turned.choose(), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(turned.set(CUBLASLT_MATMUL_DESC_EPILOGUE, std::uint64_t{4}), CUBLAS_STATUS_INVALID_VALUE);
}

TEST(EmulatedCublasLt, RefusesArgumentsThatAnAlgorithmWasNotChosenFor) {
  const Floats a(kM * kK), b(kK * kN), d(kM * kN), bias(kM), apart(kM * kK, 1), other(kM, 1);
  Product product(CUBLASLT_EPILOGUE_BIAS, bias.data);
  ASSERT_EQ(product.choose(), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(product.run(apart.data, b.data, d.data), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(product.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<const float*>(other.data)),
            CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(product.run(a.data, b.data, d.data), CUBLAS_STATUS_INVALID_VALUE);

  Product loose(CUBLASLT_EPILOGUE_BIAS, bias.data);
  EXPECT_EQ(loose.prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, std::uint32_t{4}), CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(loose.choose(), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(loose.run(apart.data, b.data, d.data), CUBLAS_STATUS_SUCCESS);
}

TEST(EmulatedCublasLt, WantsTheWorkspaceThatItAskedFor) {
  const Floats a(kM * kK), b(kK * kN), d(kM * kN), bias(kM), workspace(1024);
  Product product(CUBLASLT_EPILOGUE_BIAS, bias.data);
  EXPECT_EQ(product.prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::uint64_t{4096}), CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(product.choose(), CUBLAS_STATUS_SUCCESS);
  ASSERT_GT(product.chosen.workspaceSize, std::size_t{0});
  EXPECT_EQ(product.run(a.data, b.data, d.data), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(product.run(a.data, b.data, d.data, workspace.data, product.chosen.workspaceSize), CUBLAS_STATUS_SUCCESS);
}

}  // namespace
