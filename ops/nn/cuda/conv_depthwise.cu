#include <algorithm>
#include <cmath>

#include "engine/runtime/cuda/device_guard.h"
#include "engine/runtime/cuda/launch.h"
#include "engine/runtime/cuda/stream.h"
#include "ops/cuda/accumulate.h"
#include "ops/cuda/fast_divide.h"
#include "ops/cuda/grid.h"
#include "ops/cuda/lanes.h"
#include "ops/cuda/windows.h"
#include "ops/nn/cuda/conv_direct.h"
#include "ops/support/checks.h"

// Note [Depthwise convolutions]
// Convolutions with a channel in and out per group are as fast as memory if each element is read about once, from
// registers after that: a thread computes a strip of kStrip results of one column, whose windows have most rows in
// common. The kernel's size and stride are known when the kernels are compiled, and numbers have 32 bits.
//
// The gradient of x with a stride of 1 is the convolution of dy, mirrored along both axes, whose result is mirrored; so
// the same kernel computes it, and adds in the order of the taps. With a larger stride a thread computes a cell of
// stride x stride elements, which read the same windows. For the gradient of the weights, a block sums over part of the
// strips of a channel. Taps outside of the image are left out: infinities times 0 would be NaN.

namespace lamella::cuda {
namespace {

using lamella::detail::ConvProblem;
using lamella::detail::ConvResult;

constexpr DTypeSet kOfDepthwise{DType::Float32, DType::Float16, DType::BFloat16};
constexpr int kStrip = 4;

struct DepthwiseAxis {
  std::int32_t in;
  std::int32_t out;
  std::int32_t pad;
};

/// Images, one of each channel of each example, and the windows on them.
struct Depthwise {
  DepthwiseAxis h;
  DepthwiseAxis w;
  std::uint32_t examples;
  FastDivide channels;
  FastDivide strips;   ///< per column
  FastDivide columns;  ///< of results
  std::int32_t step;   ///< from an element to the next: -1 in mirrored planes

  /// Returns the first element of a plane.
  template <class E>
  __device__ E* plane_of(E* planes, std::int32_t number, std::int32_t size) const {
    return planes + number * size + (step < 0 ? size - 1 : 0);
  }
};

/// The elements that the windows of a strip read.
template <class T, int kSize, int kStride>
struct Patch {
  static constexpr int kRows = (kStrip - 1) * kStride + kSize;

  Wide<T> values[kRows][kSize];
  bool has_column[kSize];
  std::int32_t top;

  __device__ Patch(const Depthwise& images, const T* plane, std::int32_t first_row, std::int32_t column)
      : top(first_row * kStride - images.h.pad) {
    const std::int32_t left = column * kStride - images.w.pad;
#pragma unroll
    for (int c = 0; c < kSize; ++c) has_column[c] = is_inside(left + c, images.w.in);
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const std::int32_t begin = ((top + r) * images.w.in + left) * images.step;
#pragma unroll
      for (int c = 0; c < kSize; ++c) {
        const bool is_there = has_row(images, r) && has_column[c];
        values[r][c] = is_there ? widened<Wide<T>>(plane[begin + c * images.step]) : Wide<T>(0);
      }
    }
  }

  __device__ bool has_row(const Depthwise& images, int r) const { return is_inside(top + r, images.h.in); }

  /// Calls f(result of the strip, row of the kernel, column of the kernel, element) for the taps inside the image, for
  /// each result in order.
  template <class F>
  __device__ void for_each_tap(const Depthwise& images, F&& f) const {
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      if (!has_row(images, r)) continue;
#pragma unroll
      for (int t = 0; t < kStrip; ++t) {
        const int kernel_row = r - t * kStride;
        if (kernel_row < 0 || kernel_row >= kSize) continue;
#pragma unroll
        for (int c = 0; c < kSize; ++c) {
          if (has_column[c]) f(t, kernel_row, c, values[r][c]);
        }
      }
    }
  }
};

template <class T, int kSize, int kStride>
__global__ void __launch_bounds__(kGridThreads)
    depthwise_kernel(const __grid_constant__ Depthwise images, const T* x, const T* weights, T* y, const T* bias,
                     std::uint32_t count) {
  const std::uint32_t i = blockIdx.x * kGridThreads + threadIdx.x;
  if (i >= count) return;
  const std::uint32_t strip_number = images.columns.quotient(i);
  const std::uint32_t plane = images.strips.quotient(strip_number);
  const std::uint32_t channel = plane - images.channels.quotient(plane) * images.channels.divisor;
  const auto column = static_cast<std::int32_t>(i - strip_number * images.columns.divisor);
  const auto row = static_cast<std::int32_t>(strip_number - plane * images.strips.divisor) * kStrip;
  const auto number = static_cast<std::int32_t>(plane);
  const Patch<T, kSize, kStride> patch(images, images.plane_of(x, number, images.h.in * images.w.in), row, column);
  Wide<T> taps[kSize][kSize];
#pragma unroll
  for (int r = 0; r < kSize; ++r) {
#pragma unroll
    for (int c = 0; c < kSize; ++c) taps[r][c] = widened<Wide<T>>(weights[(channel * kSize + r) * kSize + c]);
  }
  Wide<T> sums[kStrip];
#pragma unroll
  for (int t = 0; t < kStrip; ++t) sums[t] = bias ? widened<Wide<T>>(bias[channel]) : Wide<T>(0);
  patch.for_each_tap(images,
                     [&](int t, int r, int c, Wide<T> element) { sums[t] = std::fma(taps[r][c], element, sums[t]); });
  T* const results = images.plane_of(y, number, images.h.out * images.w.out);
#pragma unroll
  for (int t = 0; t < kStrip; ++t) {
    if (row + t >= images.h.out) break;
    results[((row + t) * images.w.out + column) * images.step] = rounded<T>(sums[t]);
  }
}

/// Computes the gradient of x: an element at row kStride i + r, counted from the padding's begin, is the sum over
/// windows i - a times the rows r + kStride a of the kernel, and so for columns. `images.strips` and `images.columns`
/// divide by the cells of a column and of a row.
template <class T, int kSize, int kStride>
__global__ void __launch_bounds__(kGridThreads)
    depthwise_cell_kernel(const __grid_constant__ Depthwise images, T* x, const T* weights, const T* y,
                          std::uint32_t count) {
  constexpr int kSpan = (kSize + kStride - 1) / kStride;
  const std::uint32_t i = blockIdx.x * kGridThreads + threadIdx.x;
  if (i >= count) return;
  const std::uint32_t row_number = images.columns.quotient(i);
  const std::uint32_t plane = images.strips.quotient(row_number);
  const std::uint32_t channel = plane - images.channels.quotient(plane) * images.channels.divisor;
  const auto cell_w = static_cast<std::int32_t>(i - row_number * images.columns.divisor);
  const auto cell_h = static_cast<std::int32_t>(row_number - plane * images.strips.divisor);
  const auto number = static_cast<std::int32_t>(plane);
  const T* const results = images.plane_of(y, number, images.h.out * images.w.out);
  Wide<T> around[kSpan][kSpan];
#pragma unroll
  for (int a = 0; a < kSpan; ++a) {
#pragma unroll
    for (int b = 0; b < kSpan; ++b) {
      const bool is_there = is_inside(cell_h - a, images.h.out) && is_inside(cell_w - b, images.w.out);
      around[a][b] = is_there ? widened<Wide<T>>(results[(cell_h - a) * images.w.out + cell_w - b]) : Wide<T>(0);
    }
  }
  T* const elements = images.plane_of(x, number, images.h.in * images.w.in);
#pragma unroll
  for (int r = 0; r < kStride; ++r) {
    const std::int32_t row = cell_h * kStride + r - images.h.pad;
    if (!is_inside(row, images.h.in)) continue;
#pragma unroll
    for (int c = 0; c < kStride; ++c) {
      const std::int32_t column = cell_w * kStride + c - images.w.pad;
      if (!is_inside(column, images.w.in)) continue;
      Wide<T> sum = 0;
#pragma unroll
      for (int a = 0; r + a * kStride < kSize; ++a) {
        if (!is_inside(cell_h - a, images.h.out)) continue;
#pragma unroll
        for (int b = 0; c + b * kStride < kSize; ++b) {
          if (!is_inside(cell_w - b, images.w.out)) continue;
          const T weight = weights[(channel * kSize + r + a * kStride) * kSize + c + b * kStride];
          sum = std::fma(widened<Wide<T>>(weight), around[a][b], sum);
        }
      }
      elements[row * images.w.in + column] = rounded<T>(sum);
    }
  }
}

/// Sums over `part` rows of strips, of all examples, of the channel of the block's first index; its second one is that
/// of the part. Writes `sums_of_parts`, [parts, channels, taps], or the weights where that is null.
template <class T, int kSize, int kStride>
__global__ void __launch_bounds__(kLaneThreads)
    depthwise_weight_kernel(const __grid_constant__ Depthwise images, const T* x, T* weights, const T* y,
                            Wide<T>* sums_of_parts, std::uint32_t part) {
  __shared__ Wide<T> shared[kLaneThreads];
  const auto channels = static_cast<std::int32_t>(images.channels.divisor);
  const auto channel = static_cast<std::int32_t>(blockIdx.x);
  const std::uint32_t first = blockIdx.y * part;
  const std::uint32_t all = images.examples * images.strips.divisor;
  Wide<T> sums[kSize][kSize] = {};
  const std::uint32_t count = (first + part < all ? part : all - first) * images.columns.divisor;
  for (std::uint32_t i = threadIdx.x; i < count; i += kLaneThreads) {
    const std::uint32_t of_part = images.columns.quotient(i);
    const std::uint32_t strip_number = first + of_part;
    const std::uint32_t example = images.strips.quotient(strip_number);
    const auto column = static_cast<std::int32_t>(i - of_part * images.columns.divisor);
    const auto row = static_cast<std::int32_t>(strip_number - example * images.strips.divisor) * kStrip;
    const std::int32_t plane = static_cast<std::int32_t>(example) * channels + channel;
    const T* const results = images.plane_of(y, plane, images.h.out * images.w.out);
    Wide<T> factors[kStrip];
#pragma unroll
    for (int t = 0; t < kStrip; ++t) {
      const std::int32_t at = (row + t) * images.w.out + column;
      factors[t] = row + t < images.h.out ? widened<Wide<T>>(results[at]) : Wide<T>(0);
    }
    const Patch<T, kSize, kStride> patch(images, images.plane_of(x, plane, images.h.in * images.w.in), row, column);
    patch.for_each_tap(images, [&](int t, int r, int c, Wide<T> element) {
      if (row + t < images.h.out) sums[r][c] = std::fma(factors[t], element, sums[r][c]);
    });
  }
  const Place place(Lanes{kLaneThreads, true});
  const std::int32_t begin = (static_cast<std::int32_t>(blockIdx.y) * channels + channel) * kSize * kSize;
#pragma unroll
  for (int k = 0; k < kSize * kSize; ++k) {
    const Wide<T> sum = combine_lanes(shared, sums[k / kSize][k % kSize], place, kLaneThreads,
                                      [](Wide<T> a, Wide<T> b) { return a + b; });
    if (threadIdx.x != 0) continue;
    if (sums_of_parts) {
      sums_of_parts[begin + k] = sum;
    } else {
      weights[begin + k] = rounded<T>(sum);
    }
  }
}

/// Adds the sums of the parts.
template <class T>
__global__ void __launch_bounds__(kGridThreads)
    join_parts_kernel(const Wide<T>* parts, T* weights, std::int64_t count, std::int32_t number) {
  for_each_element(count, [&](std::int64_t i) {
    Wide<T> sum = 0;
#pragma unroll 8
    for (std::int32_t part = 0; part < number; ++part) sum += parts[part * count + i];
    weights[i] = rounded<T>(sum);
  });
}

/// Returns the number of parts into which the rows of strips are cut for the gradient of the weights: enough for all
/// processors of a GPU, but none with little to sum. Depends on the sizes alone.
std::int64_t parts_for(const ConvProblem& problem, std::int64_t rows, std::int64_t positions) {
  constexpr std::int64_t kBlocks = 1024;
  constexpr std::int64_t kLeastPositions = 8192;
  const std::int64_t wanted = std::max<std::int64_t>(1, kBlocks / problem.c);
  return std::clamp<std::int64_t>(problem.n * positions / kLeastPositions, 1, std::min(wanted, rows));
}

template <class T, int kSize, int kStride>
void start_weight(const ConvProblem& problem, const Depthwise& images, const Tensor& x, const Tensor& w,
                  const Tensor& y, const char* op) {
  const cudaStream_t stream = current_stream(w.device());
  const std::int64_t rows = problem.n * images.strips.divisor;
  const std::int64_t wanted = parts_for(problem, rows, std::int64_t{images.h.out} * images.w.out);
  const auto part = static_cast<std::uint32_t>((rows + wanted - 1) / wanted);
  const auto parts = static_cast<unsigned>((rows + part - 1) / part);
  const dim3 grid(static_cast<unsigned>(problem.c), parts);
  const Tensor sums = parts > 1 ? empty({std::int64_t{parts} * w.numel()}, DType::Float32, w.device()) : Tensor();
  launch(op, depthwise_weight_kernel<T, kSize, kStride>, grid, kLaneThreads, 0, stream, images, x.data<T>(),
         w.data<T>(), y.data<T>(), parts > 1 ? sums.data<Wide<T>>() : nullptr, part);
  if (parts == 1) return;
  launch(op, join_parts_kernel<T>, grid_blocks(w.numel()), kGridThreads, 0, stream, sums.data<Wide<T>>(), w.data<T>(),
         w.numel(), static_cast<std::int32_t>(parts));
}

/// True if kernels are compiled for the windows.
bool are_small(const ImageWindows& windows) {
  const std::int64_t stride = windows.stride[1];
  bool small = windows.kernel == ImageWindows::Sizes{1, 3, 3} && (stride == 1 || stride == 2) &&
               windows.stride[2] == stride && windows.in[0] == 1 && windows.out[0] == 1 && windows.pad[0] == 0;
  for (std::size_t i = 1; i < ImageWindows::kAxes; ++i) {
    small = small && windows.dilation[i] == 1 && windows.pad[i] >= 0 && windows.pad[i] < windows.kernel[i];
  }
  return small;
}

}  // namespace

bool convolve_depthwise(const ConvProblem& problem, const Tensor& x, const Tensor& w, const Tensor& y,
                        const Tensor& bias, const char* op) {
  constexpr std::int64_t kMost = std::int64_t{1} << 30;
  const ImageWindows windows = windows_of(problem);
  const std::int64_t stride = windows.stride[1];
  const bool is_input = problem.result == ConvResult::Input;
  const bool mirrored = is_input && stride == 1;
  const bool cells = is_input && stride != 1;
  if (problem.groups != problem.c || problem.groups != problem.o || !kOfDepthwise.contains(problem.dtype) ||
      !are_small(windows) || std::min(x.numel(), y.numel()) == 0 || std::max(x.numel(), y.numel()) >= kMost)
    return false;
  const auto axis = [&](std::size_t i) -> DepthwiseAxis {
    const auto in = static_cast<std::int32_t>(windows.in[i]);
    const auto out = static_cast<std::int32_t>(windows.out[i]);
    const auto pad = static_cast<std::int32_t>(windows.pad[i]);
    // Mirrored, dy begins as far behind dx as it ends in front of it.
    return mirrored ? DepthwiseAxis{out, in, in - out + pad} : DepthwiseAxis{in, out, pad};
  };
  Depthwise images{.h = axis(1),
                   .w = axis(2),
                   .examples = static_cast<std::uint32_t>(problem.n),
                   .channels = FastDivide(static_cast<std::uint32_t>(problem.c)),
                   .strips = {},
                   .columns = {},
                   .step = mirrored ? -1 : 1};
  const auto cells_along = [&](const DepthwiseAxis& along) { return (along.in - 1 + along.pad) / stride + 1; };
  images.strips =
      FastDivide(static_cast<std::uint32_t>(cells ? cells_along(images.h) : (images.h.out + kStrip - 1) / kStrip));
  images.columns = FastDivide(static_cast<std::uint32_t>(cells ? cells_along(images.w) : images.w.out));
  const std::int64_t threads = problem.n * problem.c * images.strips.divisor * images.columns.divisor;
  if (threads >= 2 * kMost) return false;
  const auto count = static_cast<std::uint32_t>(threads);
  const DeviceGuard guard(y.device());
  const auto start = [&](auto compiled, const auto&... arguments) {
    launch(op, compiled, (count + kGridThreads - 1) / kGridThreads, kGridThreads, 0, current_stream(y.device()), images,
           arguments..., count);
  };
  visit<kOfDepthwise>(problem.dtype, op, [&]<class T>() {
    const T* const none = nullptr;
    const T* const weights = w.data<T>();
    if (cells) return start(depthwise_cell_kernel<T, 3, 2>, x.data<T>(), weights, y.data<T>());
    if (is_input) return start(depthwise_kernel<T, 3, 1>, y.data<T>(), weights, x.data<T>(), none);
    if (problem.result == ConvResult::Weight) {
      if (stride == 1) return start_weight<T, 3, 1>(problem, images, x, w, y, op);
      return start_weight<T, 3, 2>(problem, images, x, w, y, op);
    }
    const T* const added = bias.defined() ? bias.data<T>() : none;
    if (stride == 1) return start(depthwise_kernel<T, 3, 1>, x.data<T>(), weights, y.data<T>(), added);
    start(depthwise_kernel<T, 3, 2>, x.data<T>(), weights, y.data<T>(), added);
  });
  return true;
}

}  // namespace lamella::cuda
