#include "ops/linalg/cuda/matmul.h"
#include "ops/movement/cuda/movement.h"
#include "ops/reduce/cuda/reduce.h"
#include "ops/support/device_kernels.h"
#include "ops/support/fused_products.h"

namespace lamella::cuda {
namespace {

[[maybe_unused]] const bool kRegistered = register_kernel<&DeviceKernels::copy>(DeviceType::CUDA, copy) &&
                                          register_kernel<&DeviceKernels::fill>(DeviceType::CUDA, fill) &&
                                          register_kernel<&DeviceKernels::reduce>(DeviceType::CUDA, reduce) &&
                                          register_kernel<&DeviceKernels::matmul>(DeviceType::CUDA, matmul) &&
                                          (matmul_and_sum_on_cuda = matmul_and_sum) != nullptr;

}  // namespace
}  // namespace lamella::cuda
