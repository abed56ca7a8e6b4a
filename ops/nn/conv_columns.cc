#include <algorithm>
#include <vector>

#include "engine/runtime/parallel.h"
#include "ops/nn/conv_problem.h"
#include "ops/runtime/cpu_loader.h"

// Note [Columns]
// The values of x that one output position reads form a column; the columns of all positions form a
// matrix [c / groups * kernel, positions], by which the weights are multiplied. The matrix never exists as a whole: one
// tile of positions is unfolded, used, and discarded. Tiles and tasks depend on the sizes alone.

namespace lamella::detail {
namespace {

constexpr std::int64_t kTileElements = 1 << 16;  // elements of a tile of columns: a part of the L2 cache
constexpr std::int64_t kTaskRows = 128;          // rows of columns per task of a gradient

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return a >= 0 ? (a + b - 1) / b : -(-a / b); }

/// The windows with their numbers of elements.
struct Window : ImageWindows {
  std::int64_t planes_in;
  std::int64_t taps;
  std::int64_t positions;

  explicit Window(const ConvProblem& p)
      : ImageWindows(windows_of(p)),
        planes_in(ImageWindows::pixels()),
        taps(ImageWindows::taps()),
        positions(ImageWindows::positions()) {}

  /// Calls f(at, length, low, high, from) for each run of the tile's positions along the last axis, for one tap of the
  /// kernel. `at` counts from the tile's first position; the positions [low, high) of the run read x at `from`, `from`
  /// + stride, ..; the others read the padding.
  template <class F>
  void for_each_run(std::int64_t tap, std::int64_t begin, std::int64_t end, F&& f) const {
    const std::int64_t kw = tap % kernel[2];
    const std::int64_t kh = tap / kernel[2] % kernel[1];
    const std::int64_t kd = tap / kernel[2] / kernel[1];
    const std::int64_t shift = kw * dilation[2] - pad[2];
    const std::int64_t first_inside = std::max<std::int64_t>(0, divide_up(-shift, stride[2]));
    const std::int64_t behind_inside = std::max(first_inside, divide_up(in[2] - shift, stride[2]));
    for (std::int64_t p = begin; p < end;) {
      const std::int64_t w = p % out[2];
      const std::int64_t row = p / out[2];
      const std::int64_t h = row % out[1];
      const std::int64_t d = row / out[1];
      const std::int64_t length = std::min(out[2] - w, end - p);
      const std::int64_t id = d * stride[0] - pad[0] + kd * dilation[0];
      const std::int64_t ih = h * stride[1] - pad[1] + kh * dilation[1];
      const bool inside = id >= 0 && id < in[0] && ih >= 0 && ih < in[1];
      const std::int64_t low = inside ? std::clamp<std::int64_t>(first_inside - w, 0, length) : length;
      const std::int64_t high = inside ? std::clamp<std::int64_t>(behind_inside - w, low, length) : length;
      f(p - begin, length, low, high, (id * in[1] + ih) * in[2] + (w + low) * stride[2] + shift);
      p += length;
    }
  }

  /// Fills columns [channels * taps, end - begin] from the planes of `channels`.
  template <class T>
  void gather(const T* x, std::int64_t channels, std::int64_t begin, std::int64_t end, T* columns) const {
    for (std::int64_t row = 0; row < channels * taps; ++row) {
      const T* plane = x + row / taps * planes_in;
      T* to = columns + row * (end - begin);
      for_each_run(row % taps, begin, end,
                   [&](std::int64_t at, std::int64_t length, std::int64_t low, std::int64_t high, std::int64_t from) {
                     std::fill(to + at, to + at + low, T(0));
                     if (stride[2] == 1 && low < high) {
                       std::copy_n(plane + from, high - low, to + at + low);
                     } else {
                       for (std::int64_t i = low; i < high; ++i) to[at + i] = plane[from + (i - low) * stride[2]];
                     }
                     std::fill(to + at + high, to + at + length, T(0));
                   });
    }
  }
  /// Adds columns to the planes; the transpose of gather().
  template <class T>
  void scatter(const T* columns, std::int64_t channels, std::int64_t begin, std::int64_t end, T* x) const {
    for (std::int64_t row = 0; row < channels * taps; ++row) {
      T* plane = x + row / taps * planes_in;
      const T* values = columns + row * (end - begin);
      for_each_run(row % taps, begin, end,
                   [&](std::int64_t at, std::int64_t, std::int64_t low, std::int64_t high, std::int64_t from) {
                     for (std::int64_t i = low; i < high; ++i) plane[from + (i - low) * stride[2]] += values[at + i];
                   });
    }
  }
};

template <class T>
class Columns {
 public:
  explicit Columns(const ConvProblem& problem)
      : problem_(problem),
        window_(problem),
        channels_(problem.c / problem.groups),
        outputs_(problem.o / problem.groups),
        rows_(channels_ * window_.taps),
        multiply_((std::is_integral_v<T> ? cpu_kernels().matmul.small
                                         : cpu_kernels().matmul.large)[static_cast<std::size_t>(dtype_of<T>)]) {}

  void output() const {
    const std::int64_t width = tile_width(rows_);
    const std::int64_t tiles = divide_up(window_.positions, width);
    parallel_for(0, problem_.n * problem_.groups * tiles, 1, [&](std::int64_t first, std::int64_t last) {
      std::vector<T> columns(static_cast<std::size_t>(rows_ * width));
      for (std::int64_t task = first; task < last; ++task) {
        const std::int64_t plane = task / tiles;
        const std::int64_t begin = task % tiles * width;
        const std::int64_t end = std::min(begin + width, window_.positions);
        window_.gather(x(plane), channels_, begin, end, columns.data());
        T* const to = y(plane) + begin;
        multiply_({.a = w(plane % problem_.groups),
                   .b = columns.data(),
                   .c = to,
                   .m = outputs_,
                   .k = rows_,
                   .n = end - begin,
                   .a_row = rows_,
                   .a_column = 1,
                   .b_row = end - begin,
                   .b_column = 1,
                   .c_row = window_.positions});
        if (problem_.bias) add_bias(to, plane % problem_.groups * outputs_, end - begin);
      }
    });
  }

  void input() const {
    for_each_chunk(problem_.n * problem_.groups, [&](std::int64_t plane, std::int64_t c, std::int64_t channels) {
      const std::int64_t rows = channels * window_.taps;
      const std::int64_t width = tile_width(rows);
      std::vector<T> columns(static_cast<std::size_t>(rows * width));
      T* const to = x(plane) + c * window_.planes_in;
      std::fill_n(to, channels * window_.planes_in, T(0));
      for (std::int64_t begin = 0; begin < window_.positions; begin += width) {
        const std::int64_t end = std::min(begin + width, window_.positions);
        multiply_({.a = w(plane % problem_.groups) + c * window_.taps,
                   .b = y(plane) + begin,
                   .c = columns.data(),
                   .m = rows,
                   .k = outputs_,
                   .n = end - begin,
                   .a_row = 1,
                   .a_column = rows_,
                   .b_row = window_.positions,
                   .b_column = 1,
                   .c_row = end - begin});
        window_.scatter(columns.data(), channels, begin, end, to);
      }
    });
  }

  void weight() const {
    for_each_chunk(problem_.groups, [&](std::int64_t group, std::int64_t c, std::int64_t channels) {
      const std::int64_t rows = channels * window_.taps;
      const std::int64_t width = tile_width(rows);
      std::vector<T> columns(static_cast<std::size_t>(rows * width));
      std::vector<T> part(static_cast<std::size_t>(outputs_ * rows));
      T* const to = w(group) + c * window_.taps;
      for (std::int64_t o = 0; o < outputs_; ++o) std::fill_n(to + o * rows_, rows, T(0));
      for (std::int64_t n = 0; n < problem_.n; ++n) {
        const std::int64_t plane = n * problem_.groups + group;
        for (std::int64_t begin = 0; begin < window_.positions; begin += width) {
          const std::int64_t end = std::min(begin + width, window_.positions);
          window_.gather(x(plane) + c * window_.planes_in, channels, begin, end, columns.data());
          multiply_({.a = y(plane) + begin,
                     .b = columns.data(),
                     .c = part.data(),
                     .m = outputs_,
                     .k = end - begin,
                     .n = rows,
                     .a_row = window_.positions,
                     .a_column = 1,
                     .b_row = 1,
                     .b_column = end - begin,
                     .c_row = rows});
          for (std::int64_t o = 0; o < outputs_; ++o) {
            for (std::int64_t i = 0; i < rows; ++i) to[o * rows_ + i] += part[static_cast<std::size_t>(o * rows + i)];
          }
        }
      }
    });
  }

 private:
  /// Return x and y of one example and group, and w of one group.
  T* x(std::int64_t plane) const { return static_cast<T*>(problem_.x) + plane * channels_ * window_.planes_in; }
  T* y(std::int64_t plane) const { return static_cast<T*>(problem_.y) + plane * outputs_ * window_.positions; }
  T* w(std::int64_t group) const { return static_cast<T*>(problem_.w) + group * outputs_ * rows_; }

  std::int64_t tile_width(std::int64_t rows) const {
    const std::int64_t width = std::max<std::int64_t>(16, kTileElements / rows);
    return std::min(width, window_.positions);
  }
  void add_bias(T* to, std::int64_t first, std::int64_t width) const {
    for (std::int64_t o = 0; o < outputs_; ++o) {
      const T added = static_cast<const T*>(problem_.bias)[first + o];
      for (std::int64_t i = 0; i < width; ++i) to[o * window_.positions + i] += added;
    }
  }
  /// Calls f(i, first channel, channels) for each i below count and each chunk of a group's channels.
  template <class F>
  void for_each_chunk(std::int64_t count, F&& f) const {
    const std::int64_t size = std::clamp<std::int64_t>(kTaskRows / window_.taps, 1, channels_);
    const std::int64_t chunks = divide_up(channels_, size);
    parallel_for(0, count * chunks, 1, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t task = first; task < last; ++task) {
        const std::int64_t c = task % chunks * size;
        f(task / chunks, c, std::min(size, channels_ - c));
      }
    });
  }

  const ConvProblem& problem_;
  const Window window_;
  const std::int64_t channels_;
  const std::int64_t outputs_;
  /// Number of rows of a group's columns.
  const std::int64_t rows_;
  void (*const multiply_)(const cpu::MatmulArgs&);
};

}  // namespace

void columns_conv(const ConvProblem& problem) {
  visit<kColumnsDTypes>(problem.dtype, "conv", [&]<class T> {
    const Columns<T> columns(problem);
    switch (problem.result) {
      case ConvResult::Output:
        return columns.output();
      case ConvResult::Input:
        return columns.input();
      case ConvResult::Weight:
        return columns.weight();
    }
  });
}

}  // namespace lamella::detail
