#include "ops/linalg/cuda/matmul.h"
#include "ops/movement/cuda/movement.h"
#include "ops/reduce/cuda/reduce.h"
#include "ops/support/device_kernels.h"

namespace lamella::cuda {
namespace {

constexpr DeviceKernels kKernels{.copy = copy, .fill = fill, .reduce = reduce, .matmul = matmul};

[[maybe_unused]] const bool kRegistered = [] {
  register_device_kernels(DeviceType::CUDA, &kKernels);
  return true;
}();

}  // namespace
}  // namespace lamella::cuda
