#pragma once

#include <optional>

#include "engine/core/tensor.h"
#include "ops/op_info.h"

// Operators that mix or rearrange channels, and that undo pooling.

namespace lamella {

struct Bilinear {
  static constexpr OpInfo info{
      .name = "bilinear",
      .doc =
          "y[.., o] = sum over i and j of x1[.., i] weight[o, i, j] x2[.., j], and the bias [o]; the axes in front of "
          "the last one are the same in x1 and x2.",
      .parameters = "x1, x2, weight, bias=None",
      .example = "bilinear(ones([2, 3]), ones([2, 4]), ones([5, 3, 4]))",
      .dtypes = Floating,
      .method = false};
  static Tensor call(const Tensor& x1, const Tensor& x2, const Tensor& weight, const std::optional<Tensor>& bias);
};

struct ChannelShuffle {
  static constexpr OpInfo info{
      .name = "channel_shuffle",
      .doc =
          "x, [n, channels, ..], with the channels of as many groups dealt out one by one, so that each group has "
          "channels of all afterwards (Zhang et al., 2017).",
      .parameters = "x, groups",
      .example = "channel_shuffle(ones([1, 4, 2]), 2)",
      .method = false};
  /// Throws ValueError if the groups do not divide the channels, or if x has fewer than three axes.
  static Tensor call(const Tensor& x, std::int64_t groups);
};

template <int N>
struct MaxUnpool {
  static constexpr const char* kNames[3] = {"max_unpool1d", "max_unpool2d", "max_unpool3d"};
  static constexpr const char* kExamples[3] = {
      "max_unpool1d(ones([1, 1, 2]), asarray([[[0, 3]]]), 2)",
      "max_unpool2d(ones([1, 1, 1, 1]), asarray([[[[3]]]]), 2)",
      "max_unpool3d(ones([1, 1, 1, 1, 1]), asarray([[[[[7]]]]]), 2)",
  };
  static constexpr OpInfo info{
      .name = kNames[N - 1],
      .doc =
          "What max_pool1d_with_indices, or that of more axes, found, back in its place, with 0 elsewhere. The sizes "
          "are those of the smallest input that gives as many windows, unless output_size says otherwise. Of several "
          "values for a place one of them counts.",
      .parameters = "x, indices, kernel_size, stride=None, padding=0, output_size=None",
      .example = kExamples[N - 1],
      .dtypes = Real,
      .method = false};
  /// Throws ValueError if the shape of indices differs or sizes are not above 0, IndexError if an index is out of
  /// range.
  static Tensor call(const Tensor& x, const Tensor& indices, const Dims& kernel_size, const std::optional<Dims>& stride,
                     const Dims& padding, const std::optional<Dims>& output_size);
};

}  // namespace lamella
