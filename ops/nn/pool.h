#pragma once

#include <optional>
#include <vector>

#include "engine/core/tensor.h"
#include "ops/nn/spatial.h"
#include "ops/op_info.h"

namespace lamella {

// Pooling over N spatial axes of x [n, channels, size..] or [channels, size..]. Throws ValueError for shapes and
// numbers that do not fit, TypeError for dtypes that are not supported.

template <int N>
struct MaxPool {
  static constexpr const char* kNames[3] = {"max_pool1d", "max_pool2d", "max_pool3d"};
  static constexpr const char* kExamples[3] = {"max_pool1d(ones([1, 2, 5]), 2)",
                                               "max_pool2d(ones([1, 2, 5, 5]), 3, 2, ceil_mode=True)",
                                               "max_pool3d(ones([1, 2, 4, 4, 4]), 2)"};
  static constexpr OpInfo info{
      .name = kNames[N - 1],
      .doc =
          "The largest element of each window of kernel_size elements, dilation apart; the windows begin stride apart "
          "(kernel_size, unless given), the first one `padding` before the first element. The padding is never the "
          "largest. The number of windows is floor((size + 2 padding - dilation (kernel_size - 1) - 1) / stride) + 1, "
          "rounded up instead with ceil_mode, where a window that would begin behind the last element and the front "
          "padding is left out. The gradient goes to the largest element, the first of several; NaN is larger than "
          "anything.",
      .parameters = "x, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False",
      .example = kExamples[N - 1],
      .dtypes = Real,
      .method = false};
  static Tensor call(const Tensor& x, const Dims& kernel_size, const std::optional<Dims>& stride, const Dims& padding,
                     const Dims& dilation, bool ceil_mode);
};

template <int N>
struct MaxPoolWithIndices {
  static constexpr const char* kNames[3] = {"max_pool1d_with_indices", "max_pool2d_with_indices",
                                            "max_pool3d_with_indices"};
  static constexpr const char* kExamples[3] = {"max_pool1d_with_indices(ones([1, 2, 5]), 2)",
                                               "max_pool2d_with_indices(ones([1, 2, 5, 5]), 2)",
                                               "max_pool3d_with_indices(ones([1, 2, 4, 4, 4]), 2)"};
  static constexpr OpInfo info{
      .name = kNames[N - 1],
      .doc =
          "What max_pool1d, max_pool2d or max_pool3d gives, and as int64 where the elements were found: their numbers "
          "in row-major order over the spatial axes of x.",
      .parameters = "x, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False",
      .example = kExamples[N - 1],
      .dtypes = Real,
      .method = false};
  static std::vector<Tensor> call(const Tensor& x, const Dims& kernel_size, const std::optional<Dims>& stride,
                                  const Dims& padding, const Dims& dilation, bool ceil_mode);
};

template <int N>
struct AvgPool {
  static constexpr const char* kNames[3] = {"avg_pool1d", "avg_pool2d", "avg_pool3d"};
  static constexpr const char* kExamples[3] = {"avg_pool1d(ones([1, 2, 5]), 2)", "avg_pool2d(ones([1, 2, 5, 5]), 2)",
                                               "avg_pool3d(ones([1, 2, 4, 4, 4]), 2)"};
  static constexpr OpInfo info{
      .name = kNames[N - 1],
      .doc =
          "The mean of each window; along each axis windows are those of max_pool1d, without dilation. The padding "
          "counts as zeros, or, without count_include_pad, not at all; what ceil_mode adds behind it never counts. "
          "divisor_override is what the sums are divided by instead. Means of integers lose their fractions.",
      .parameters =
          "x, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None",
      .example = kExamples[N - 1],
      .dtypes = Real - DType::UInt64,
      .method = false};
  static Tensor call(const Tensor& x, const Dims& kernel_size, const std::optional<Dims>& stride, const Dims& padding,
                     bool ceil_mode, bool count_include_pad, std::optional<std::int64_t> divisor_override);
};

template <int N>
struct LpPool {
  static constexpr const char* kNames[3] = {"lp_pool1d", "lp_pool2d", "lp_pool3d"};
  static constexpr const char* kExamples[3] = {"lp_pool1d(ones([1, 2, 5]), 2, 2)",
                                               "lp_pool2d(ones([1, 2, 5, 5]), 2, 3)",
                                               "lp_pool3d(ones([1, 2, 4, 4, 4]), 2, 2)"};
  static constexpr OpInfo info{
      .name = kNames[N - 1],
      .doc =
          "(The sum of x ** norm_type over each window) ** (1 / norm_type); along each axis windows are those of "
          "max_pool1d, without padding. For infinity it is the largest absolute value. Where a sum is 0 there is no "
          "gradient: it is NaN.",
      .parameters = "x, norm_type, kernel_size, stride=None, ceil_mode=False",
      .example = kExamples[N - 1],
      .dtypes = Floating,
      .method = false};
  static Tensor call(const Tensor& x, double norm_type, const Dims& kernel_size, const std::optional<Dims>& stride,
                     bool ceil_mode);
};

template <int N>
struct AdaptiveAvgPool {
  static constexpr const char* kNames[3] = {"adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d"};
  static constexpr const char* kExamples[3] = {"adaptive_avg_pool1d(ones([1, 2, 5]), 2)",
                                               "adaptive_avg_pool2d(ones([1, 2, 5, 5]), 1)",
                                               "adaptive_avg_pool3d(ones([1, 2, 4, 4, 4]), [1, 2, 3])"};
  static constexpr OpInfo info{
      .name = kNames[N - 1],
      .doc =
          "The means of as many windows as output_size says: window i of n reaches from floor(i size / n) to "
          "ceil((i + 1) size / n), so that neighbors may share elements. An axis for which output_size has None keeps "
          "its size.",
      .parameters = "x, output_size",
      .example = kExamples[N - 1],
      .dtypes = Floating,
      .method = false};
  static Tensor call(const Tensor& x, const OutputSize& output_size);
};

template <int N>
struct AdaptiveMaxPool {
  static constexpr const char* kNames[3] = {"adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d"};
  static constexpr const char* kExamples[3] = {"adaptive_max_pool1d(ones([1, 2, 5]), 2)",
                                               "adaptive_max_pool2d(ones([1, 2, 5, 5]), 1)",
                                               "adaptive_max_pool3d(ones([1, 2, 4, 4, 4]), [1, 2, 3])"};
  static constexpr OpInfo info{.name = kNames[N - 1],
                               .doc =
                                   "The largest elements of as many windows as output_size says, which along each "
                                   "axis are those of adaptive_avg_pool1d.",
                               .parameters = "x, output_size",
                               .example = kExamples[N - 1],
                               .dtypes = Real,
                               .method = false};
  static Tensor call(const Tensor& x, const OutputSize& output_size);
};

template <int N>
struct AdaptiveMaxPoolWithIndices {
  static constexpr const char* kNames[3] = {"adaptive_max_pool1d_with_indices", "adaptive_max_pool2d_with_indices",
                                            "adaptive_max_pool3d_with_indices"};
  static constexpr const char* kExamples[3] = {"adaptive_max_pool1d_with_indices(ones([1, 2, 5]), 2)",
                                               "adaptive_max_pool2d_with_indices(ones([1, 2, 5, 5]), 2)",
                                               "adaptive_max_pool3d_with_indices(ones([1, 2, 4, 4, 4]), 2)"};
  static constexpr OpInfo info{.name = kNames[N - 1],
                               .doc =
                                   "The largest elements of as many windows as output_size says, which along each "
                                   "axis are those of adaptive_avg_pool1d, and where they were found, as "
                                   "max_pool1d_with_indices says it.",
                               .parameters = "x, output_size",
                               .example = kExamples[N - 1],
                               .dtypes = Real,
                               .method = false};
  static std::vector<Tensor> call(const Tensor& x, const OutputSize& output_size);
};

struct LocalResponseNorm {
  static constexpr OpInfo info{
      .name = "local_response_norm",
      .doc =
          "x / (k + alpha * m) ** beta, where m is the mean of x ** 2 over `size` neighboring channels, counting those "
          "beyond the first and the last as zeros (Krizhevsky et al., 2012). x is [n, channels, ..].",
      .parameters = "x, size, alpha=0.0001, beta=0.75, k=1.0",
      .example = "local_response_norm(ones([1, 4, 2, 2]), 3)",
      .dtypes = Real - DType::UInt64,
      .method = false};
  static Tensor call(const Tensor& x, std::int64_t size, double alpha, double beta, double k);
};

/// Function forms: `max_pool<2>(x, {3})` is max_pool2d in Python.
template <int N>
Tensor max_pool(const Tensor& x, const Dims& kernel_size, const std::optional<Dims>& stride = std::nullopt,
                const Dims& padding = {0}, const Dims& dilation = {1}, bool ceil_mode = false) {
  return MaxPool<N>::call(x, kernel_size, stride, padding, dilation, ceil_mode);
}
template <int N>
Tensor avg_pool(const Tensor& x, const Dims& kernel_size, const std::optional<Dims>& stride = std::nullopt,
                const Dims& padding = {0}, bool ceil_mode = false, bool count_include_pad = true,
                std::optional<std::int64_t> divisor_override = std::nullopt) {
  return AvgPool<N>::call(x, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override);
}
template <int N>
Tensor adaptive_avg_pool(const Tensor& x, const OutputSize& output_size) {
  return AdaptiveAvgPool<N>::call(x, output_size);
}
template <int N>
Tensor adaptive_max_pool(const Tensor& x, const OutputSize& output_size) {
  return AdaptiveMaxPool<N>::call(x, output_size);
}

}  // namespace lamella
