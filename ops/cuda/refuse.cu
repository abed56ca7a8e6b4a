#include "engine/runtime/cuda/device_guard.h"
#include "engine/runtime/cuda/late_error.h"
#include "engine/runtime/cuda/launch.h"
#include "engine/runtime/cuda/stream.h"
#include "ops/cuda/grid.h"
#include "ops/cuda/report.h"
#include "ops/support/device_kernels.h"

namespace lamella::cuda {
namespace {

__global__ void __launch_bounds__(kGridThreads) refuse_kernel(const bool* mask, std::int64_t count, LateReport report) {
  bool all = true;
  for_each_element(count, [&](std::int64_t i) { all = all && mask[i]; });
  if (!all) report_late(report);
}

void refuse_unless(const Tensor& mask, RaiseLate raise, const char* op) {
  const Device device = mask.device();
  if (mask.numel() == 0) return;
  const LateReport report = late_report(device, raise, op);
  const DeviceGuard guard(device);
  launch(op, refuse_kernel, grid_blocks(mask.numel()), kGridThreads, 0, current_stream(device), mask.data<bool>(),
         mask.numel(), report);
  raise_if_blocking(device);
}

[[maybe_unused]] const bool kRefuseRegistered =
    register_kernel<&DeviceKernels::refuse_unless>(DeviceType::CUDA, refuse_unless);

}  // namespace
}  // namespace lamella::cuda
