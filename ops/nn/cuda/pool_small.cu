#include <algorithm>
#include <array>
#include <limits>
#include <type_traits>

#include "engine/runtime/cuda/device_guard.h"
#include "engine/runtime/cuda/launch.h"
#include "engine/runtime/cuda/stream.h"
#include "ops/cuda/accumulate.h"
#include "ops/cuda/fast_divide.h"
#include "ops/cuda/grid.h"
#include "ops/cuda/pack.h"
#include "ops/nn/cuda/pool.h"
#include "ops/support/checks.h"

// Note [Small windows]
// Windows of 2 x 2 and 3 x 3 neighbors of images are known when kernels are compiled, so that a thread loads a whole
// window before it looks at one element, and numbers have 32 bits. Gradients go by cells: with a stride of 2, the 2 x 2
// elements that window (i, j) is the last one around along both axes. Which of the windows in front contain an element
// is then known from its place in the cell. Results have the bits of the kernels for any windows.

namespace lamella::cuda {
namespace {

constexpr DTypeSet kOfSmallWindows{DType::Float32, DType::Float16, DType::BFloat16};
constexpr int kCellStride = 2;

/// An axis of windows, or of cells.
struct SmallAxis {
  std::int32_t in;
  std::int32_t out;
  std::int32_t stride;
  std::int32_t pad;
  /// Elements below `low` and from `high` on do not count in a divisor.
  std::int32_t low;
  std::int32_t high;
  /// Divides by the results, or by the cells, along the axis.
  FastDivide split;

  explicit SmallAxis(const PoolWindows& axis, bool cells)
      : in(static_cast<std::int32_t>(axis.in)),
        out(static_cast<std::int32_t>(axis.out)),
        stride(static_cast<std::int32_t>(axis.stride)),
        pad(static_cast<std::int32_t>(axis.pad_low)),
        low(axis.divisor == PoolDivisor::Inside ? 0 : -pad),
        high(static_cast<std::int32_t>(axis.divisor == PoolDivisor::Inside ? axis.in : axis.in + axis.pad_high)),
        split(static_cast<std::uint32_t>(cells ? (in - 1 + pad) / kCellStride + 1 : out)) {}

  /// Returns the number of elements that count in window o of kSize.
  template <int kSize>
  __device__ std::int32_t count(std::int32_t o) const {
    const std::int32_t first = o * stride - pad;
    const std::int32_t begin = first > low ? first : low;
    const std::int32_t end = first + kSize < high ? first + kSize : high;
    return end > begin ? end - begin : 0;
  }
};

/// Two axes of windows, with the scales of windows by how many of their elements count along them.
struct SmallWindows {
  static constexpr int kCounts = 4;

  SmallAxis h;
  SmallAxis w;
  std::array<float, kCounts * kCounts> scales;

  SmallWindows(const PoolShape& shape, bool cells) : h(shape.h, cells), w(shape.w, cells) {
    const auto scale_of = [](const PoolWindows& axis, int count) {
      return axis.scale_of(axis.divisor == PoolDivisor::None ? 1 : count);
    };
    for (int i = 0; i < kCounts * kCounts; ++i) {
      const double scale = shape.d.scale_of(1) * scale_of(shape.h, i / kCounts) * scale_of(shape.w, i % kCounts);
      scales[static_cast<std::size_t>(i)] = static_cast<float>(scale);
    }
  }

  template <int kSize>
  __device__ float scale(std::int32_t o_h, std::int32_t o_w) const {
    return scales[static_cast<std::size_t>(h.count<kSize>(o_h) * kCounts + w.count<kSize>(o_w))];
  }
  /// Calls f(plane, row, column) for this thread's result, or cell.
  template <class F>
  __device__ void split(std::uint32_t count, F&& f) const {
    const std::uint32_t i = blockIdx.x * kGridThreads + threadIdx.x;
    if (i >= count) return;
    const std::uint32_t row = w.split.quotient(i);
    const std::uint32_t plane = h.split.quotient(row);
    f(static_cast<std::int32_t>(plane), static_cast<std::int32_t>(row - plane * h.split.divisor),
      static_cast<std::int32_t>(i - row * w.split.divisor));
  }
};

/// A window's elements, 0 where they are outside of the plane.
template <class T, int kSize>
struct Window {
  std::int32_t top;
  std::int32_t left;
  Wide<T> values[kSize][kSize];

  __device__ Window(const SmallWindows& windows, const T* x, std::int32_t o_h, std::int32_t o_w)
      : top(o_h * windows.h.stride - windows.h.pad), left(o_w * windows.w.stride - windows.w.pad) {
#pragma unroll
    for (int r = 0; r < kSize; ++r) {
#pragma unroll
      for (int c = 0; c < kSize; ++c) {
        values[r][c] = contains(windows, r, c) ? widened<Wide<T>>(x[place(windows, r, c)]) : Wide<T>(0);
      }
    }
  }

  __device__ bool contains(const SmallWindows& windows, int r, int c) const {
    return is_inside(top + r, windows.h.in) && is_inside(left + c, windows.w.in);
  }
  __device__ std::int32_t place(const SmallWindows& windows, int r, int c) const {
    return (top + r) * windows.w.in + left + c;
  }
};

/// As max_kernel, which see.
template <class T, int kSize>
__global__ void __launch_bounds__(kGridThreads)
    small_max_kernel(const __grid_constant__ SmallWindows windows, const T* from, T* to, std::int64_t* places,
                     std::uint32_t count) {
  windows.split(count, [&](std::int32_t plane, std::int32_t o_h, std::int32_t o_w) {
    const Window<T, kSize> window(windows, from + plane * windows.h.in * windows.w.in, o_h, o_w);
    Wide<T> found = -std::numeric_limits<Wide<T>>::infinity();
    std::int32_t place = -1;
#pragma unroll
    for (int r = 0; r < kSize; ++r) {
#pragma unroll
      for (int c = 0; c < kSize; ++c) {
        const Wide<T> value = window.values[r][c];
        const bool larger = place < 0 || value > found || (value != value && found == found);
        if (!larger || !window.contains(windows, r, c)) continue;
        found = value;
        place = window.place(windows, r, c);
      }
    }
    const std::int32_t i = (plane * windows.h.out + o_h) * windows.w.out + o_w;
    to[i] = rounded<T>(found);
    if (places) places[i] = place;
  });
}

/// As sum_kernel, which see.
template <class T, int kSize>
__global__ void __launch_bounds__(kGridThreads)
    small_sum_kernel(const __grid_constant__ SmallWindows windows, const T* from, T* to, std::uint32_t count) {
  windows.split(count, [&](std::int32_t plane, std::int32_t o_h, std::int32_t o_w) {
    const Window<T, kSize> window(windows, from + plane * windows.h.in * windows.w.in, o_h, o_w);
    Wide<T> sum = 0;
#pragma unroll
    for (int r = 0; r < kSize; ++r) {
#pragma unroll
      for (int c = 0; c < kSize; ++c) sum += window.values[r][c];
    }
    to[(plane * windows.h.out + o_h) * windows.w.out + o_w] = rounded<T>(sum * windows.scale<kSize>(o_h, o_w));
  });
}

/// Writes, for the elements of a cell in a thread of its own, the sums of the values of those windows that contain them
/// and that `counts` takes. `load(number, o_h, o_w)` returns a window's value and mark; `counts(mark, place)` takes the
/// mark and an element's place in the plane.
template <int kSize, class T, class Load, class Counts>
__device__ void sum_windows_of_cells(const SmallWindows& windows, T* to, std::uint32_t count, Load&& load,
                                     Counts&& counts) {
  constexpr int kSpan = (kSize + kCellStride - 1) / kCellStride;  // windows around an element along an axis
  windows.split(count, [&](std::int32_t plane, std::int32_t cell_h, std::int32_t cell_w) {
    Wide<T> values[kSpan][kSpan];
    std::int32_t marks[kSpan][kSpan];
#pragma unroll
    for (int a = 0; a < kSpan; ++a) {
#pragma unroll
      for (int b = 0; b < kSpan; ++b) {
        const std::int32_t o_h = cell_h - a;
        const std::int32_t o_w = cell_w - b;
        values[a][b] = 0;
        marks[a][b] = -1;
        if (!is_inside(o_h, windows.h.out) || !is_inside(o_w, windows.w.out)) continue;
        load((plane * windows.h.out + o_h) * windows.w.out + o_w, o_h, o_w, values[a][b], marks[a][b]);
      }
    }
    const std::int32_t top = cell_h * kCellStride - windows.h.pad;
    const std::int32_t left = cell_w * kCellStride - windows.w.pad;
    // Both elements of a row of the cell are in one word of the plane.
    const bool aligned = windows.w.pad == 0 && windows.w.in % kCellStride == 0;
#pragma unroll
    for (int r = 0; r < kCellStride; ++r) {
      if (!is_inside(top + r, windows.h.in)) continue;
      const std::int32_t begin = (top + r) * windows.w.in + left;
      T row[kCellStride];
#pragma unroll
      for (int c = 0; c < kCellStride; ++c) {
        Wide<T> sum = 0;
#pragma unroll
        for (int a = kSpan - 1; a >= 0; --a) {
#pragma unroll
          for (int b = kSpan - 1; b >= 0; --b) {
            if (r + a * kCellStride >= kSize || c + b * kCellStride >= kSize) continue;
            if (counts(marks[a][b], begin + c)) sum += values[a][b];
          }
        }
        row[c] = rounded<T>(sum);
      }
      T* const target = to + plane * windows.h.in * windows.w.in + begin;
      if (aligned) {
        store_pack<T, kCellStride>(row, target);
        continue;
      }
#pragma unroll
      for (int c = 0; c < kCellStride; ++c) {
        if (is_inside(left + c, windows.w.in)) target[c] = row[c];
      }
    }
  });
}

template <class T, int kSize>
__global__ void __launch_bounds__(kGridThreads)
    small_put_kernel(const __grid_constant__ SmallWindows windows, const T* from, const std::int64_t* places, T* to,
                     std::uint32_t count) {
  sum_windows_of_cells<kSize>(
      windows, to, count,
      [&](std::int32_t i, std::int32_t, std::int32_t, Wide<T>& value, std::int32_t& mark) {
        value = widened<Wide<T>>(from[i]);
        mark = static_cast<std::int32_t>(places[i]);
      },
      [](std::int32_t mark, std::int32_t place) { return mark == place; });
}

template <class T, int kSize>
__global__ void __launch_bounds__(kGridThreads)
    small_spread_kernel(const __grid_constant__ SmallWindows windows, const T* from, T* to, std::uint32_t count) {
  sum_windows_of_cells<kSize>(
      windows, to, count,
      [&](std::int32_t i, std::int32_t o_h, std::int32_t o_w, Wide<T>& value, std::int32_t&) {
        value = widened<Wide<T>>(from[i]) * windows.scale<kSize>(o_h, o_w);
      },
      [](std::int32_t, std::int32_t) { return true; });
}

/// True if the windows along an axis are neighbors, as many as along the other.
bool is_small(const PoolWindows& axis, std::int64_t kernel, bool cells) {
  constexpr std::int64_t kMost = std::int64_t{1} << 30;
  return !axis.adaptive && axis.kernel == kernel && axis.step == 1 && axis.pad_low >= 0 && 2 * axis.pad_low <= kernel &&
         axis.pad_high >= 0 && 2 * axis.pad_high <= kernel && axis.stride < kMost &&
         (!cells || axis.stride == kCellStride);
}

}  // namespace

bool pool_small_windows(const PoolCall& call, const Tensor& from, const Tensor& to, const Tensor& places) {
  constexpr std::int64_t kMost = std::int64_t{1} << 30;
  const PoolShape shape(call.plan);
  const bool cells = call.step == PoolStep::Put || call.step == PoolStep::Spread;
  const std::int64_t kernel = shape.h.kernel;
  if (call.step == PoolStep::Pick || !kOfSmallWindows.contains(to.dtype()) || (kernel != 2 && kernel != 3) ||
      !is_small(shape.h, kernel, cells) || !is_small(shape.w, kernel, cells) || shape.d.adaptive || shape.d.in != 1 ||
      shape.d.out != 1 || shape.d.kernel != 1 || shape.d.pad_low != 0 || std::max(from.numel(), to.numel()) >= kMost)
    return false;
  const SmallWindows windows(shape, cells);
  const std::int64_t planes = to.numel() / elements_of(cells ? shape.in() : shape.out());
  const auto count = static_cast<std::uint32_t>(planes * windows.h.split.divisor * windows.w.split.divisor);
  const DeviceGuard guard(to.device());
  const auto start = [&](auto kernel_of_size, const auto&... arguments) {
    launch(call.op, kernel_of_size, (count + kGridThreads - 1) / kGridThreads, kGridThreads, 0,
           current_stream(to.device()), windows, arguments..., count);
  };
  visit<kOfSmallWindows>(to.dtype(), call.op, [&]<class T>() {
    const T* const x = from.data<T>();
    T* const y = to.data<T>();
    auto* const at = places.defined() ? places.data<std::int64_t>() : nullptr;
    const auto start_step = [&]<int kSize>(std::integral_constant<int, kSize>) {
      if (call.step == PoolStep::Max) return start(small_max_kernel<T, kSize>, x, y, at);
      if (call.step == PoolStep::Sum) return start(small_sum_kernel<T, kSize>, x, y);
      if (call.step == PoolStep::Put) return start(small_put_kernel<T, kSize>, x, at, y);
      start(small_spread_kernel<T, kSize>, x, y);
    };
    if (kernel == 2) return start_step(std::integral_constant<int, 2>());
    start_step(std::integral_constant<int, 3>());
  });
  return true;
}

}  // namespace lamella::cuda
