#include <algorithm>
#include <span>

#include "engine/core/error.h"
#include "engine/runtime/cuda/device_guard.h"
#include "engine/runtime/cuda/late_error.h"
#include "engine/runtime/cuda/launch.h"
#include "engine/runtime/cuda/stream.h"
#include "ops/cuda/grid.h"
#include "ops/cuda/report.h"
#include "ops/index/picks.h"
#include "ops/support/device_kernels.h"

namespace lamella::cuda {
namespace {

constexpr int kMostIndices = 8;  // per launch

/// Indices of neighboring axes; see pick_rows().
struct Picks {
  int count;
  bool from_end;
  bool ignores;
  std::int64_t ignored;
  const std::int64_t* index[kMostIndices];
  std::int64_t sizes[kMostIndices];
  std::int64_t axes[kMostIndices];
  std::int64_t strides[kMostIndices];
};

/// Adds the indices to `positions`, or writes their sum if they are the first.
__global__ void __launch_bounds__(kGridThreads)
    positions_kernel(const __grid_constant__ Picks picks, bool is_first, std::int64_t count, LateReport report,
                     std::int64_t* positions) {
  for_each_element(count, [&](std::int64_t i) {
    std::int64_t position = is_first ? 0 : positions[i];
    bool counts = position >= 0;
    for (int k = 0; k < picks.count; ++k) {
      const std::int64_t given = picks.index[k][i];
      const std::int64_t size = picks.sizes[k];
      const std::int64_t number = given < 0 && picks.from_end ? given + size : given;
      if (picks.ignores && given == picks.ignored) {
        counts = false;
      } else if (number < 0 || number >= size) {
        report_late(report, given, picks.axes[k], size);
        counts = false;
      } else {
        position += number * picks.strides[k];
      }
    }
    positions[i] = counts ? position : -1;
  });
}

Tensor pick_positions(std::span<const Tensor> indices, DimsView sizes, DimsView axes, bool from_end,
                      std::optional<std::int64_t> ignored, const char* op) {
  const Device device = indices[0].device();
  const std::int64_t count = indices[0].numel();
  Tensor positions = empty({count}, DType::Int64, device);
  const LateReport report = late_report(device, raise_index_error, op);
  const DeviceGuard guard(device);
  std::int64_t stride = 1;
  for (std::size_t end = indices.size(); end > 0;) {
    Picks picks{};
    picks.from_end = from_end;
    picks.ignores = ignored.has_value();
    picks.ignored = ignored.value_or(0);
    const bool is_first = end == indices.size();
    while (end > 0 && picks.count < kMostIndices) {
      --end;
      picks.index[picks.count] = indices[end].data<std::int64_t>();
      picks.sizes[picks.count] = sizes[end];
      picks.axes[picks.count] = axes[end];
      picks.strides[picks.count] = stride;
      stride *= sizes[end];
      ++picks.count;
    }
    launch("index", positions_kernel, grid_blocks(count), kGridThreads, 0, current_stream(device), picks, is_first,
           count, report, positions.data<std::int64_t>());
  }
  raise_if_blocking(device);
  return positions;
}

[[maybe_unused]] const bool kPositionsRegistered =
    register_kernel<&DeviceKernels::pick_positions>(DeviceType::CUDA, pick_positions);

}  // namespace
}  // namespace lamella::cuda
