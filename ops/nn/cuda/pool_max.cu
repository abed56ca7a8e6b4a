#include <limits>

#include "engine/runtime/cuda/device_guard.h"
#include "engine/runtime/cuda/launch.h"
#include "engine/runtime/cuda/stream.h"
#include "ops/cuda/accumulate.h"
#include "ops/cuda/grid.h"
#include "ops/nn/cuda/pool.h"
#include "ops/support/checks.h"

namespace lamella::cuda {
namespace {

template <class A>
__device__ constexpr A lowest() {
  return std::numeric_limits<A>::has_infinity ? -std::numeric_limits<A>::infinity() : std::numeric_limits<A>::lowest();
}

/// Finds the largest element of each window, the first of several, in a thread of its own. `places` may be null.
template <class T>
__global__ void __launch_bounds__(kGridThreads)
    max_kernel(const __grid_constant__ PoolShape shape, const __grid_constant__ PlaneSplit out, const T* from, T* to,
               std::int64_t* places, std::int64_t count) {
  const std::int64_t in_plane = shape.d.in * shape.h.in * shape.w.in;
  for_each_element(count, [&](std::int64_t i) {
    const PlaneSplit::Place here = out(i);
    const Index3& window = here.index;
    const T* const x = from + here.plane * in_plane;
    Wide<T> found = lowest<Wide<T>>();
    std::int64_t place = -1;
    const std::int64_t last_h = shape.h.end(window.h);
    const std::int64_t last_w = shape.w.end(window.w);
    for (std::int64_t d = shape.d.begin(window.d); d < shape.d.end(window.d); d += shape.d.step) {
      for (std::int64_t h = shape.h.begin(window.h); h < last_h; h += shape.h.step) {
        for (std::int64_t w = shape.w.begin(window.w); w < last_w; w += shape.w.step) {
          const std::int64_t at = (d * shape.h.in + h) * shape.w.in + w;
          const auto value = widened<Wide<T>>(x[at]);
          if (place >= 0 && !(value > found) && (value == value || found != found)) continue;
          found = value;
          place = at;
        }
      }
    }
    to[i] = rounded<T>(found);
    if (places) places[i] = place;
  });
}

}  // namespace

void pool_largest(const PoolCall& call, const Tensor& from, const Tensor& to, const Tensor& places) {
  const PoolShape shape(call.plan);
  const Device device = to.device();
  const DeviceGuard guard(device);
  visit<Real>(to.dtype(), call.op, [&]<class T>() {
    launch(call.op, max_kernel<T>, grid_blocks(to.numel()), kGridThreads, 0, current_stream(device), shape,
           PlaneSplit(shape.out()), from.data<T>(), to.data<T>(),
           places.defined() ? places.data<std::int64_t>() : nullptr, to.numel());
  });
}

}  // namespace lamella::cuda
