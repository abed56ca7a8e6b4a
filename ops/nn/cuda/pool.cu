#include "ops/nn/cuda/pool.h"

#include "engine/runtime/cuda/device_guard.h"
#include "engine/runtime/cuda/launch.h"
#include "engine/runtime/cuda/stream.h"
#include "ops/cuda/accumulate.h"
#include "ops/cuda/grid.h"
#include "ops/support/checks.h"
#include "ops/support/device_kernels.h"

namespace lamella::cuda {
namespace {

constexpr DTypeSet kSummed = Floating | DTypeSet{DType::Int64};

/// Sums each window in a thread of its own.
template <class T>
__global__ void __launch_bounds__(kGridThreads)
    sum_kernel(const __grid_constant__ PoolShape shape, const __grid_constant__ PlaneSplit out, const T* from, T* to,
               std::int64_t count) {
  const std::int64_t in_plane = shape.d.in * shape.h.in * shape.w.in;
  for_each_element(count, [&](std::int64_t i) {
    const PlaneSplit::Place at = out(i);
    const Index3& window = at.index;
    const T* const x = from + at.plane * in_plane;
    Wide<T> sum = 0;
    const std::int64_t last_h = shape.h.end(window.h);
    const std::int64_t last_w = shape.w.end(window.w);
    for (std::int64_t d = shape.d.begin(window.d); d < shape.d.end(window.d); d += shape.d.step) {
      for (std::int64_t h = shape.h.begin(window.h); h < last_h; h += shape.h.step) {
        for (std::int64_t w = shape.w.begin(window.w); w < last_w; w += shape.w.step) {
          sum = plus(sum, widened<Wide<T>>(x[(d * shape.h.in + h) * shape.w.in + w]));
        }
      }
    }
    const double scale = shape.d.scale_of(shape.d.count(window.d)) * shape.h.scale_of(shape.h.count(window.h)) *
                         shape.w.scale_of(shape.w.count(window.w));
    to[i] = rounded<T>(scaled_sum(sum, scale));
  });
}

/// A window's scale along an axis, computed anew where its divisor differs from that of the window before.
class Scale {
 public:
  __device__ double of(const PoolWindows& axis, std::int64_t o) {
    const std::int64_t count = axis.count(o);
    if (count != count_) {
      count_ = count;
      scale_ = axis.scale_of(count);
    }
    return scale_;
  }

 private:
  std::int64_t count_ = -1;
  double scale_ = 0;
};

/// Sums, for each element of x in a thread of its own, the scaled results of the windows that contain it.
template <class T>
__global__ void __launch_bounds__(kGridThreads)
    spread_kernel(const __grid_constant__ PlaneAround around, const __grid_constant__ PlaneSplit in, const T* from,
                  T* to, std::int64_t count) {
  const std::int64_t out_plane = around.d.axis().out * around.h.axis().out * around.w.axis().out;
  for_each_element(count, [&](std::int64_t i) {
    const PlaneSplit::Place at = in(i);
    const Index3& element = at.index;
    const T* const dy = from + at.plane * out_plane;
    Wide<T> sum = 0;
    Scale along_d;
    Scale along_h;
    Scale along_w;
    around.d.for_each(element.d, [&](std::int64_t d) {
      around.h.for_each(element.h, [&](std::int64_t h) {
        const double scale = along_d.of(around.d.axis(), d) * along_h.of(around.h.axis(), h);
        around.w.for_each(element.w, [&](std::int64_t w) {
          sum += widened<Wide<T>>(dy[(d * around.h.axis().out + h) * around.w.axis().out + w]) *
                 static_cast<Wide<T>>(scale * along_w.of(around.w.axis(), w));
        });
      });
    });
    to[i] = rounded<T>(sum);
  });
}

template <class T>
__global__ void __launch_bounds__(kGridThreads)
    pick_kernel(const T* from, const std::int64_t* places, T* to, std::int64_t in_plane, WideDivide out_plane,
                std::int64_t count) {
  for_each_element(count, [&](std::int64_t i) {
    to[i] = places[i] < 0 ? T(0.0F) : from[out_plane.quotient(i) * in_plane + places[i]];
  });
}

/// Sums, for each element of x in a thread of its own, the results of the windows whose place it is.
template <class T>
__global__ void __launch_bounds__(kGridThreads)
    put_kernel(const __grid_constant__ PlaneAround around, const __grid_constant__ PlaneSplit in, const T* from,
               const std::int64_t* places, T* to, std::int64_t count) {
  const std::int64_t in_plane = around.d.axis().in * around.h.axis().in * around.w.axis().in;
  const std::int64_t out_plane = around.d.axis().out * around.h.axis().out * around.w.axis().out;
  for_each_element(count, [&](std::int64_t i) {
    const PlaneSplit::Place here = in(i);
    const Index3& element = here.index;
    const std::int64_t place = i - here.plane * in_plane;
    const std::int64_t first = here.plane * out_plane;
    Wide<T> sum = 0;
    around.d.for_each(element.d, [&](std::int64_t d) {
      around.h.for_each(element.h, [&](std::int64_t h) {
        around.w.for_each(element.w, [&](std::int64_t w) {
          const std::int64_t at = first + (d * around.h.axis().out + h) * around.w.axis().out + w;
          if (places[at] == place) sum += widened<Wide<T>>(from[at]);
        });
      });
    });
    to[i] = rounded<T>(sum);
  });
}

void pool(const PoolCall& call, const Tensor& from, const Tensor& to, const Tensor& places) {
  if (pool_small_windows(call, from, to, places)) return;
  if (call.step == PoolStep::Max) return pool_largest(call, from, to, places);
  const PoolShape shape(call.plan);
  const PlaneSplit in(shape.in());
  const Device device = to.device();
  const DeviceGuard guard(device);
  const auto start = [&](auto kernel, const auto&... arguments) {
    launch(call.op, kernel, grid_blocks(to.numel()), kGridThreads, 0, current_stream(device), arguments..., to.numel());
  };
  visit<kSummed>(to.dtype(), call.op, [&]<class T>() {
    if (call.step == PoolStep::Sum)
      return start(sum_kernel<T>, shape, PlaneSplit(shape.out()), from.data<T>(), to.data<T>());
    if constexpr (std::is_integral_v<T>) {
      no_kernel(call.op, to.dtype(), device);
    } else {
      if (call.step == PoolStep::Spread)
        return start(spread_kernel<T>, PlaneAround(shape), in, from.data<T>(), to.data<T>());
      const auto* const at = places.data<std::int64_t>();
      if (call.step == PoolStep::Put)
        return start(put_kernel<T>, PlaneAround(shape), in, from.data<T>(), at, to.data<T>());
      start(pick_kernel<T>, from.data<T>(), at, to.data<T>(), elements_of(shape.in()),
            WideDivide(elements_of(shape.out())));
    }
  });
}

[[maybe_unused]] const bool kPoolRegistered = register_kernel<&DeviceKernels::pool>(DeviceType::CUDA, pool);

}  // namespace
}  // namespace lamella::cuda
