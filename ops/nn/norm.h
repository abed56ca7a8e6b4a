#pragma once

#include <optional>

#include "engine/core/tensor.h"
#include "ops/op_info.h"

namespace lamella {

// Normalizations. They compute in at least float32 and return x's dtype. They throw ValueError for shapes that do not
// fit, TypeError for dtypes that are not floating, RuntimeError for several devices.

struct LayerNorm {
  static constexpr OpInfo info{
      .name = "layer_norm",
      .doc =
          "(x - mean) / sqrt(variance + eps) * weight + bias, where mean and variance are taken over the last axes, "
          "whose sizes normalized_shape gives; weight and bias have that shape (Ba et al., 2016).",
      .parameters = "x, normalized_shape, weight=None, bias=None, eps=1e-05",
      .example = "layer_norm(ones([2, 3]), 3)",
      .dtypes = Floating,
      .method = false,
      .autocast = Autocast::Float32};
  static Tensor call(const Tensor& x, const Dims& normalized_shape, const std::optional<Tensor>& weight,
                     const std::optional<Tensor>& bias, double eps);
};

struct RmsNorm {
  static constexpr OpInfo info{
      .name = "rms_norm",
      .doc =
          "x / sqrt(mean(x ** 2) + eps) * weight, with the mean over the last axes, whose sizes normalized_shape "
          "gives; weight has that shape (Zhang and Sennrich, 2019). eps is the distance of 1 to the next number of x's "
          "dtype "
          "unless given.",
      .parameters = "x, normalized_shape, weight=None, eps=None",
      .example = "rms_norm(ones([2, 3]), 3)",
      .dtypes = Floating | Complex,
      .method = false,
      .autocast = Autocast::Float32};
  static Tensor call(const Tensor& x, const Dims& normalized_shape, const std::optional<Tensor>& weight,
                     std::optional<double> eps);
};

struct GroupNorm {
  static constexpr OpInfo info{.name = "group_norm",
                               .doc =
                                   "(x - mean) / sqrt(variance + eps) * weight + bias for x [n, channels, ..], where "
                                   "mean and variance are those "
                                   "of each of num_groups groups of neighboring channels of each example; weight and "
                                   "bias are [channels] (Wu and "
                                   "He, 2018).",
                               .parameters = "x, num_groups, weight=None, bias=None, eps=1e-05",
                               .example = "group_norm(ones([2, 4, 3]), 2)",
                               .dtypes = Floating,
                               .method = false,
                               .autocast = Autocast::Float32};
  static Tensor call(const Tensor& x, std::int64_t num_groups, const std::optional<Tensor>& weight,
                     const std::optional<Tensor>& bias, double eps);
};

struct InstanceNorm {
  static constexpr OpInfo info{
      .name = "instance_norm",
      .doc =
          "(x - mean) / sqrt(variance + eps) * weight + bias for x [n, channels, size..]; all others are [channels] "
          "(Ulyanov et al., 2016). With use_input_stats, mean and variance are those of each channel of each example, "
          "and running_mean and running_var, where given, become (1 - momentum) of themselves plus momentum of the "
          "mean of these over the examples, in place, with the unbiased variance. Otherwise they are running_mean and "
          "running_var.",
      .parameters =
          "x, weight=None, bias=None, eps=1e-05, *, running_mean=None, running_var=None, use_input_stats=True, "
          "momentum=0.1",
      .example = "instance_norm(ones([2, 4, 3]))",
      .dtypes = Floating,
      .method = false};
  static Tensor call(const Tensor& x, const std::optional<Tensor>& weight, const std::optional<Tensor>& bias,
                     double eps, const std::optional<Tensor>& running_mean, const std::optional<Tensor>& running_var,
                     bool use_input_stats, double momentum);
};

struct BatchNorm {
  static constexpr OpInfo info{
      .name = "batch_norm",
      .doc =
          "(x - mean) / sqrt(variance + eps) * weight + bias for x [n, channels, ..]; all others are [channels] (Ioffe "
          "and Szegedy, 2015). In training, mean and variance are those of each channel in x; running_mean and "
          "running_var, if given, are updated in place to (1 - momentum) times themselves plus momentum times these, "
          "with the unbiased variance. Otherwise mean and variance are running_mean and running_var.",
      .parameters =
          "x, running_mean=None, running_var=None, weight=None, bias=None, training=False, momentum=0.1, eps=1e-05",
      .example = "batch_norm(ones([2, 4, 3]), zeros([4]), ones([4]))",
      .dtypes = Floating,
      .method = false};
  static Tensor call(const Tensor& x, const std::optional<Tensor>& running_mean,
                     const std::optional<Tensor>& running_var, const std::optional<Tensor>& weight,
                     const std::optional<Tensor>& bias, bool training, double momentum, double eps);
};

inline Tensor layer_norm(const Tensor& x, const Dims& normalized_shape,
                         const std::optional<Tensor>& weight = std::nullopt,
                         const std::optional<Tensor>& bias = std::nullopt, double eps = 1e-5) {
  return LayerNorm::call(x, normalized_shape, weight, bias, eps);
}
inline Tensor rms_norm(const Tensor& x, const Dims& normalized_shape,
                       const std::optional<Tensor>& weight = std::nullopt, std::optional<double> eps = std::nullopt) {
  return RmsNorm::call(x, normalized_shape, weight, eps);
}
inline Tensor group_norm(const Tensor& x, std::int64_t num_groups, const std::optional<Tensor>& weight = std::nullopt,
                         const std::optional<Tensor>& bias = std::nullopt, double eps = 1e-5) {
  return GroupNorm::call(x, num_groups, weight, bias, eps);
}
inline Tensor instance_norm(const Tensor& x, const std::optional<Tensor>& weight = std::nullopt,
                            const std::optional<Tensor>& bias = std::nullopt, double eps = 1e-5,
                            const std::optional<Tensor>& running_mean = std::nullopt,
                            const std::optional<Tensor>& running_var = std::nullopt, bool use_input_stats = true,
                            double momentum = 0.1) {
  return InstanceNorm::call(x, weight, bias, eps, running_mean, running_var, use_input_stats, momentum);
}
inline Tensor batch_norm(const Tensor& x, const std::optional<Tensor>& running_mean = std::nullopt,
                         const std::optional<Tensor>& running_var = std::nullopt,
                         const std::optional<Tensor>& weight = std::nullopt,
                         const std::optional<Tensor>& bias = std::nullopt, bool training = false, double momentum = 0.1,
                         double eps = 1e-5) {
  return BatchNorm::call(x, running_mean, running_var, weight, bias, training, momentum, eps);
}

}  // namespace lamella
