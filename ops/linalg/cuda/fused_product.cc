#include "ops/linalg/cuda/fused_product.h"

#include <algorithm>
#include <compare>
#include <map>
#include <mutex>

#include "engine/runtime/cuda/cublas.h"
#include "engine/runtime/cuda/cublas_lt.h"
#include "engine/runtime/cuda/device_guard.h"
#include "engine/runtime/cuda/stream.h"
#include "ops/linalg/cuda/layout.h"

namespace lamella::cuda {
namespace {

/// Bytes that NVIDIA recommends for Hopper, the most of all devices. Algorithms that need less take less.
constexpr std::uint64_t kMostWorkspace = std::uint64_t{32} << 20;
constexpr std::size_t kMostPlans = 1024;

/// Returns the largest power of two up to 256 that divides an address: 256 is the library's own assumption.
std::uint32_t alignment_of(const Tensor& x) {
  const auto address = reinterpret_cast<std::uintptr_t>(x.raw_data());
  return static_cast<std::uint32_t>(std::min<std::uintptr_t>(256, address & (~address + 1)));
}

/// All that the choice of an algorithm depends on. In column-major order our out is its transpose, b^T a^T: the
/// library's first matrix is b.
struct Problem {
  int device;
  DType dtype;
  cublasComputeType_t compute;
  Epilogue epilogue;
  std::int64_t m, n, k;
  cublasOperation_t a_operation, b_operation;
  std::int64_t a_leading, b_leading;
  std::uint32_t a_alignment, b_alignment, out_alignment, vector_alignment;

  auto operator<=>(const Problem&) const = default;
};

/// The algorithm for a problem, and the descriptors of its arguments.
struct Plan {
  bool usable = false;
  std::size_t workspace = 0;
  cublasLtMatmulAlgo_t algorithm{};
  cublasLtMatmulDescOpaque_t product{};
  cublasLtMatrixLayoutOpaque_t a{};
  cublasLtMatrixLayoutOpaque_t b{};
  cublasLtMatrixLayoutOpaque_t out{};
};

/// Calls of the library that prepare a plan, of which any may fail.
class Preparation {
 public:
  explicit Preparation(const CublasLt& lt) : lt_(lt) {}

  bool succeeded() const { return succeeded_; }
  void expect(cublasStatus_t status) { succeeded_ = succeeded_ && status == CUBLAS_STATUS_SUCCESS; }

  template <class T>
  void set(cublasLtMatmulDescOpaque_t& product, cublasLtMatmulDescAttributes_t attribute, const T& value) {
    expect(lt_.set_product(&product, attribute, &value, sizeof value));
  }
  template <class T>
  void set(cublasLtMatmulPreferenceOpaque_t& preference, cublasLtMatmulPreferenceAttributes_t attribute,
           const T& value) {
    expect(lt_.set_preference(&preference, attribute, &value, sizeof value));
  }
  void set(cublasLtMatrixLayoutOpaque_t& layout, cudaDataType_t type, std::int64_t rows, std::int64_t columns,
           cublasOperation_t operation, std::int64_t leading) {
    if (operation != CUBLAS_OP_N) std::swap(rows, columns);
    expect(lt_.init_layout(&layout, sizeof layout, type, static_cast<std::uint64_t>(rows),
                           static_cast<std::uint64_t>(columns), leading));
  }

 private:
  const CublasLt& lt_;
  bool succeeded_ = true;
};

/// Fills the plan of a problem; `vector` has the problem's alignment, which is all that counts here. The plan stays
/// unusable if a call fails: a plain product tells what is wrong, if anything is.
void prepare(const CublasLt& lt, cublasLtHandle_t handle, const Problem& problem, const void* vector, Plan& plan) {
  const cudaDataType_t data = numbers_of(problem.dtype).data;
  const cudaDataType_t factors = problem.dtype == DType::Float64 ? CUDA_R_64F : CUDA_R_32F;
  Preparation calls(lt);
  calls.expect(lt.init_product(&plan.product, sizeof plan.product, problem.compute, factors));
  calls.set(plan.product, CUBLASLT_MATMUL_DESC_TRANSA, problem.b_operation);
  calls.set(plan.product, CUBLASLT_MATMUL_DESC_TRANSB, problem.a_operation);
  // The rows of our a are the columns of the library's second matrix.
  calls.set(plan.product, CUBLASLT_MATMUL_DESC_EPILOGUE,
            problem.epilogue == Epilogue::Bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_BGRADB);
  calls.set(plan.product, CUBLASLT_MATMUL_DESC_BIAS_POINTER, vector);
  calls.set(plan.b, data, problem.n, problem.k, problem.b_operation, problem.b_leading);
  calls.set(plan.a, data, problem.k, problem.m, problem.a_operation, problem.a_leading);
  calls.set(plan.out, data, problem.n, problem.m, CUBLAS_OP_N, problem.n);

  cublasLtMatmulPreferenceOpaque_t preference{};
  calls.expect(lt.init_preference(&preference, sizeof preference));
  calls.set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kMostWorkspace);
  // Parts of a long sum stay in the type of sums until they are added: 16-bit floats would lose digits.
  calls.set(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
            static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
  calls.set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, problem.b_alignment);
  calls.set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, problem.a_alignment);
  calls.set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, problem.out_alignment);
  calls.set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, problem.out_alignment);
  if (!calls.succeeded()) return;
  cublasLtMatmulHeuristicResult_t found{};
  int count = 0;
  calls.expect(lt.find_algorithms(handle, &plan.product, &plan.b, &plan.a, &plan.out, &plan.out, &preference, 1, &found,
                                  &count));
  plan.usable = calls.succeeded() && count > 0 && found.state == CUBLAS_STATUS_SUCCESS;
  plan.algorithm = found.algo;
  plan.workspace = found.workspaceSize;
}

/// Returns the plans of a handle. Each thread has a handle to itself, so that none shares a plan: its descriptor holds
/// the address of the vector.
std::map<Problem, Plan>& plans_of(cublasLtHandle_t handle) {
  static std::mutex mutex;
  static auto& plans = *new std::map<cublasLtHandle_t, std::map<Problem, Plan>>;  // handles outlive the program's end
  const std::lock_guard lock(mutex);
  return plans[handle];
}

/// Returns the handle's plan for a problem.
Plan& plan_for(const CublasLt& lt, cublasLtHandle_t handle, const Problem& problem, const void* vector) {
  std::map<Problem, Plan>& plans = plans_of(handle);
  const auto found = plans.find(problem);
  if (found != plans.end()) return found->second;
  // Shapes that change with every call would fill the memory.
  if (plans.size() >= kMostPlans) plans.clear();
  Plan& plan = plans[problem];
  prepare(lt, handle, problem, vector, plan);
  return plan;
}

}  // namespace

bool fused_product(const Tensor& a, const Tensor& b, const Tensor& out, Epilogue epilogue, const Tensor& vector,
                   const char* op) {
  const DeviceGuard guard(out.device());
  // Loads cuBLAS, whose texts name failures of both.
  const cublasLtHandle_t handle = cublas_lt_handle(out.device());
  const CublasLt* const lt = cublas_lt();
  if (!lt) return false;
  Layout a_layout;
  Layout b_layout;
  const Tensor left = with_layout(a, a_layout);
  const Tensor right = with_layout(b, b_layout);
  const Problem problem{.device = out.device().index,
                        .dtype = out.dtype(),
                        .compute = numbers_of(out.dtype()).compute,
                        .epilogue = epilogue,
                        .m = a.size(0),
                        .n = b.size(1),
                        .k = a.size(1),
                        .a_operation = a_layout.operation,
                        .b_operation = b_layout.operation,
                        .a_leading = a_layout.leading,
                        .b_leading = b_layout.leading,
                        .a_alignment = alignment_of(left),
                        .b_alignment = alignment_of(right),
                        .out_alignment = alignment_of(out),
                        .vector_alignment = alignment_of(vector)};
  const void* const address = vector.raw_data();
  Plan& plan = plan_for(*lt, handle, problem, address);
  if (!plan.usable) return false;
  check(lt->set_product(&plan.product, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &address, sizeof address), op);
  Tensor workspace;
  if (plan.workspace > 0) workspace = empty({static_cast<std::int64_t>(plan.workspace)}, DType::UInt8, out.device());
  const Factors factors;
  const cublasStatus_t status = lt->multiply(
      handle, &plan.product, factors.get(problem.dtype, 0), right.raw_data(), &plan.b, left.raw_data(), &plan.a,
      factors.get(problem.dtype, 1), out.raw_data(), &plan.out, out.raw_data(), &plan.out, &plan.algorithm,
      workspace.defined() ? workspace.raw_data() : nullptr, plan.workspace, current_stream(out.device()));
  if (status == CUBLAS_STATUS_NOT_SUPPORTED) {
    plan.usable = false;
    return false;
  }
  check(status, op);
  return true;
}

}  // namespace lamella::cuda
