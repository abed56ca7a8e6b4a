#include "ops/nn/cuda/cudnn_plans.h"

#include <memory>

namespace lamella::cuda {

CudnnPlans& CudnnPlans::of_thread() {
  // A pointer, as memory of threads in a library that is loaded late is scarce: see cmake/check_symbols.py.
  thread_local const auto held = std::make_unique<CudnnPlans>();
  return *held;
}

}  // namespace lamella::cuda
