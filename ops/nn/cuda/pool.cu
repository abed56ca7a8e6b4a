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

/// Calls f(o) for the windows along an axis that contain element i, in order.
template <class F>
__device__ void for_each_window(const PoolWindows& axis, std::int64_t i, F&& f) {
  const std::int64_t last = axis.last_around(i);
  for (std::int64_t o = axis.first_around(i); o <= last; ++o) {
    if (axis.contains(o, i)) f(o);
  }
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
    spread_kernel(const __grid_constant__ PoolShape shape, const __grid_constant__ PlaneSplit in, const T* from, T* to,
                  std::int64_t count) {
  const std::int64_t out_plane = shape.d.out * shape.h.out * shape.w.out;
  for_each_element(count, [&](std::int64_t i) {
    const PlaneSplit::Place at = in(i);
    const Index3& element = at.index;
    const T* const dy = from + at.plane * out_plane;
    Wide<T> sum = 0;
    Scale along_d;
    Scale along_h;
    Scale along_w;
    for_each_window(shape.d, element.d, [&](std::int64_t d) {
      for_each_window(shape.h, element.h, [&](std::int64_t h) {
        const double scale = along_d.of(shape.d, d) * along_h.of(shape.h, h);
        for_each_window(shape.w, element.w, [&](std::int64_t w) {
          sum += widened<Wide<T>>(dy[(d * shape.h.out + h) * shape.w.out + w]) *
                 static_cast<Wide<T>>(scale * along_w.of(shape.w, w));
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
    put_kernel(const __grid_constant__ PoolShape shape, const __grid_constant__ PlaneSplit in, const T* from,
               const std::int64_t* places, T* to, std::int64_t count) {
  const std::int64_t in_plane = shape.d.in * shape.h.in * shape.w.in;
  const std::int64_t out_plane = shape.d.out * shape.h.out * shape.w.out;
  for_each_element(count, [&](std::int64_t i) {
    const PlaneSplit::Place here = in(i);
    const Index3& element = here.index;
    const std::int64_t place = i - here.plane * in_plane;
    const std::int64_t first = here.plane * out_plane;
    Wide<T> sum = 0;
    for_each_window(shape.d, element.d, [&](std::int64_t d) {
      for_each_window(shape.h, element.h, [&](std::int64_t h) {
        for_each_window(shape.w, element.w, [&](std::int64_t w) {
          const std::int64_t at = first + (d * shape.h.out + h) * shape.w.out + w;
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
      if (call.step == PoolStep::Spread) return start(spread_kernel<T>, shape, in, from.data<T>(), to.data<T>());
      const auto* const at = places.data<std::int64_t>();
      if (call.step == PoolStep::Put) return start(put_kernel<T>, shape, in, from.data<T>(), at, to.data<T>());
      start(pick_kernel<T>, from.data<T>(), at, to.data<T>(), elements_of(shape.in()),
            WideDivide(elements_of(shape.out())));
    }
  });
}

[[maybe_unused]] const bool kPoolRegistered = register_kernel<&DeviceKernels::pool>(DeviceType::CUDA, pool);

}  // namespace
}  // namespace lamella::cuda
