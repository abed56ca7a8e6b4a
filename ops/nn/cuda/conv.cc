#include <algorithm>

#include "ops/linalg/cuda/matmul.h"
#include "ops/movement/cuda/movement.h"
#include "ops/nn/conv_problem.h"
#include "ops/nn/cuda/conv_cudnn.h"
#include "ops/nn/cuda/conv_direct.h"
#include "ops/reduce/cuda/reduce.h"
#include "ops/support/device_kernels.h"
#include "ops/support/dtypes.h"
#include "ops/support/transposed.h"

// Note [Columns on CUDA]
// Where cuDNN does not compute a convolution (see Note [Convolutions by cuDNN]), the windows of x are unfolded into
// columns in memory of the caching allocator, by which cuBLAS multiplies the weights; the gradient of x folds such
// products. As many examples are unfolded at once as a limit allows, and only a part of one that exceeds it. The cuts
// depend on the sizes alone.

namespace lamella::cuda {
namespace {

using lamella::detail::ConvProblem;
using lamella::detail::ConvResult;

constexpr std::int64_t kColumnBytes = std::int64_t{128} << 20;
/// Products of the channels of x and y per group up to which the terms are summed directly: matrices so narrow would
/// leave most of a product's tiles empty.
constexpr std::int64_t kDirectProduct = 16;

/// Part of a convolution whose columns exist at once.
struct Part {
  std::int64_t first_example;
  std::int64_t examples;
  std::int64_t first_group;
  std::int64_t groups;
  std::int64_t first_channel;  ///< within the group
  std::int64_t channels;       ///< per group
};

class Convolution {
 public:
  Convolution(const ConvProblem& problem, const Tensor& x, const Tensor& w, const Tensor& y, const char* op)
      : problem_(problem),
        x_(x),
        w_(w),
        y_(y),
        op_(op),
        windows_(windows_of(problem)),
        channels_(problem.c / problem.groups),
        outputs_(problem.o / problem.groups),
        pixels_(windows_.pixels()),
        taps_(windows_.taps()),
        rows_(channels_ * taps_),
        positions_(windows_.positions()),
        limit_(kColumnBytes / static_cast<std::int64_t>(item_size(wide()))) {}

  /// True if each position reads the pixel in its place, so that x is its columns.
  bool is_pointwise() const {
    const ImageWindows::Sizes ones{1, 1, 1};
    return taps_ == 1 && windows_.stride == ones && windows_.in == windows_.out &&
           windows_.pad == ImageWindows::Sizes{};
  }

  void output() const {
    if (is_pointwise()) return multiply(weights(), planes(x_, channels_), planes(y_, outputs_), op_);
    const std::int64_t of_example = problem_.c * taps_;
    const std::int64_t examples = examples_per_part();
    const std::int64_t width = std::clamp<std::int64_t>(limit_ / of_example, 1, positions_);
    const Tensor room = empty({examples * of_example * width}, problem_.dtype, y_.device());
    for (std::int64_t n = 0; n < problem_.n; n += examples) {
      const std::int64_t count = std::min(examples, problem_.n - n);
      for (std::int64_t p = 0; p < positions_; p += width) {
        const std::int64_t end = std::min(p + width, positions_);
        const Dims shape{count, problem_.groups, rows_, end - p};
        const Tensor columns = make_view(room, shape, contiguous_strides(shape));
        const ColumnSteps steps{.images = count,
                                .channels = problem_.c,
                                .image_step = problem_.c * pixels_,
                                .of_image = of_example * (end - p),
                                .of_channel = taps_ * (end - p),
                                .of_tap = end - p,
                                .first_position = p,
                                .position_count = end - p};
        unfold(steps, make_view(x_, Dims{1}, Dims{1}, n * problem_.c * pixels_), columns);
        multiply(weights(), columns,
                 make_view(y_, Dims{count, problem_.groups, outputs_, end - p},
                           Dims{problem_.o * positions_, outputs_ * positions_, positions_, 1},
                           n * problem_.o * positions_ + p),
                 op_);
      }
    }
  }

  void input() const {
    if (is_pointwise())
      return multiply(matrices_transposed(weights()), planes(y_, outputs_), planes(x_, channels_), op_);
    // Products of 16 bits are rounded after they are folded.
    const auto fold = device_kernel<&DeviceKernels::fold>(x_.device(), op_);
    for_each_part([&](const Part& part) {
      const std::int64_t rows = part.channels * taps_;
      const Tensor columns = empty({part.examples, part.groups, rows, positions_}, wide(), x_.device());
      multiply(matrices_transposed(weights_of(w_, part)),
               make_view(y_, Dims{part.examples, part.groups, outputs_, positions_},
                         Dims{problem_.o * positions_, outputs_ * positions_, positions_, 1},
                         (part.first_example * problem_.o + part.first_group * outputs_) * positions_),
               columns, op_);
      ColumnSteps steps = contiguous_columns(windows_, part.examples, part.groups * part.channels);
      steps.image_step = problem_.c * pixels_;
      fold(windows_, steps, columns, images_of(part), op_);
    });
  }

  void weight() const {
    // The weights are the sums of those that the parts of the examples give.
    const std::int64_t sums = parts_of_examples();
    const Tensor parts = sums == 1 ? w_ : empty({sums, problem_.o, rows_}, wide(), w_.device());
    for_each_part([&](const Part& part) {
      // All examples are one axis, over which the product sums.
      const std::int64_t terms = part.examples * positions_;
      const std::int64_t rows = part.channels * taps_;
      const Tensor results = as_contiguous(make_view(
          y_, Dims{part.groups * outputs_, part.examples, positions_}, Dims{positions_, problem_.o * positions_, 1},
          (part.first_example * problem_.o + part.first_group * outputs_) * positions_));
      const Tensor columns = empty({part.groups, rows, terms}, problem_.dtype, w_.device());
      unfold({.images = part.examples,
              .channels = part.groups * part.channels,
              .image_step = problem_.c * pixels_,
              .of_image = positions_,
              .of_channel = taps_ * terms,
              .of_tap = terms,
              .position_count = positions_},
             images_of(part), columns);
      const std::int64_t number = part.first_example / examples_per_part();
      const Tensor whole = sums == 1 ? parts : make_view(parts, Dims{1}, Dims{1}, number * problem_.o * rows_);
      multiply(make_view(results, Dims{part.groups, outputs_, terms}, Dims{outputs_ * terms, terms, 1}),
               matrices_transposed(columns), weights_of(whole, part), op_);
    });
    if (sums == 1) return;
    const Tensor total = half() ? empty(w_.shape(), DType::Float32, w_.device()) : w_;
    reduce(cpu::Reduction::Sum, parts, {0}, make_view(total, Dims{problem_.o, rows_}, Dims{rows_, 1}), op_);
    if (half()) copy(w_, total);
  }

 private:
  bool half() const { return is_half(problem_.dtype); }
  /// Returns the dtype in which results of several products are added.
  DType wide() const { return half() ? DType::Float32 : problem_.dtype; }

  /// Returns x or y as [n, groups, channels of a group, elements of a plane].
  Tensor planes(const Tensor& x, std::int64_t channels) const {
    const Dims shape{problem_.n, problem_.groups, channels, x.numel() / problem_.n / problem_.groups / channels};
    return make_view(x, shape, contiguous_strides(shape));
  }
  Tensor weights() const {
    return make_view(w_, Dims{problem_.groups, outputs_, rows_}, Dims{outputs_ * rows_, rows_, 1});
  }
  Tensor weights_of(const Tensor& w, const Part& part) const {
    return make_view(w, Dims{part.groups, outputs_, part.channels * taps_}, Dims{outputs_ * rows_, rows_, 1},
                     part.first_group * outputs_ * rows_ + part.first_channel * taps_);
  }
  /// Returns a view that begins at the part's first plane of x.
  Tensor images_of(const Part& part) const {
    return make_view(x_, Dims{1}, Dims{1},
                     (part.first_example * problem_.c + part.first_group * channels_ + part.first_channel) * pixels_);
  }

  void unfold(const ColumnSteps& steps, const Tensor& images, const Tensor& columns) const {
    device_kernel<&DeviceKernels::unfold>(images.device(), op_)(windows_, steps, images, columns, op_);
  }

  std::int64_t examples_per_part() const {
    return std::clamp<std::int64_t>(limit_ / (problem_.c * taps_ * positions_), 1, problem_.n);
  }
  std::int64_t parts_of_examples() const { return (problem_.n + examples_per_part() - 1) / examples_per_part(); }

  /// Calls f(part) for parts whose columns hold all positions; one of a single example may have a part of its channels.
  template <class F>
  void for_each_part(F&& f) const {
    const std::int64_t examples = examples_per_part();
    const bool whole = problem_.c * taps_ * positions_ <= limit_;
    const std::int64_t groups = whole ? problem_.groups : 1;
    const std::int64_t channels =
        whole ? channels_ : std::clamp<std::int64_t>(limit_ / (taps_ * positions_), 1, channels_);
    for (std::int64_t n = 0; n < problem_.n; n += examples) {
      for (std::int64_t g = 0; g < problem_.groups; g += groups) {
        for (std::int64_t c = 0; c < channels_; c += channels) {
          f(Part{.first_example = n,
                 .examples = std::min(examples, problem_.n - n),
                 .first_group = g,
                 .groups = groups,
                 .first_channel = c,
                 .channels = std::min(channels, channels_ - c)});
        }
      }
    }
  }

  const ConvProblem& problem_;
  const Tensor& x_;
  const Tensor& w_;
  const Tensor& y_;
  const char* op_;
  const ImageWindows windows_;
  const std::int64_t channels_;  // of x, per group
  const std::int64_t outputs_;   // channels of y per group
  const std::int64_t pixels_;
  const std::int64_t taps_;
  const std::int64_t rows_;  // of a group's columns
  const std::int64_t positions_;
  const std::int64_t limit_;  // elements of columns at once
};

void convolve(const ConvProblem& problem, const Tensor& x, const Tensor& w, const Tensor& y, const Tensor& bias,
              const char* op) {
  const std::int64_t product = problem.c / problem.groups * (problem.o / problem.groups);
  if (product <= kDirectProduct || !is_floating(problem.dtype)) return convolve_directly(problem, x, w, y, bias, op);
  const Convolution convolution(problem, x, w, y, op);
  // Those of single pixels need no columns, but for the weights, whose images are copied.
  const bool is_product = convolution.is_pointwise() && problem.result != ConvResult::Weight;
  const bool is_done = !is_product && convolve_by_cudnn(problem, x, w, y, op);
  switch (problem.result) {
    case ConvResult::Output:
      if (!is_done) convolution.output();
      if (bias.defined()) add_channels(y, bias, y.numel() / problem.n / problem.o, op);
      return;
    case ConvResult::Input:
      if (!is_done) convolution.input();
      return;
    case ConvResult::Weight:
      if (!is_done) convolution.weight();
      return;
  }
}

[[maybe_unused]] const bool kRegistered = register_kernel<&DeviceKernels::convolve>(DeviceType::CUDA, convolve);

}  // namespace
}  // namespace lamella::cuda
