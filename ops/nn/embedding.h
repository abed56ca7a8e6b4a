#pragma once

#include <optional>
#include <string_view>

#include "engine/core/tensor.h"
#include "ops/op_info.h"

namespace lamella {

struct Embedding {
  static constexpr OpInfo info{
      .name = "embedding",
      .doc =
          "The rows of `weight`, [rows, size], that the integers in x name, in the shape of x with a last axis of that "
          "size. The gradient of a row is the sum of those of its uses, added in their order; that of row padding_idx "
          "(which may count from the end) is 0.",
      .parameters = "x, weight, padding_idx=None",
      .example = "embedding(asarray([[0, 2]]), ones([3, 4]))",
      .reference = "weight[x]",
      .method = false};
  /// Throws IndexError for a number that is not a row, TypeError for an x that is not an integer tensor, ValueError for
  /// a weight without two axes or a padding_idx that is not a row.
  static Tensor call(const Tensor& x, const Tensor& weight, std::optional<std::int64_t> padding_idx);
};

struct EmbeddingBag {
  static constexpr OpInfo info{
      .name = "embedding_bag",
      .doc =
          "The sum, mean or maximum (`mode`) of the rows of `weight` in each bag. x is [bags, size of a bag], or has "
          "one "
          "axis and `offsets`, the place where each bag begins. per_sample_weights, in x's shape and for sums only, "
          "multiplies the rows. Uses of row padding_idx do not count. A bag of none gives 0. With include_last_offset "
          "the last of the "
          "offsets is where the last bag ends.",
      .parameters =
          "x, weight, offsets=None, mode='mean', per_sample_weights=None, padding_idx=None, *, "
          "include_last_offset=False",
      .example = "embedding_bag(asarray([[0, 2]]), ones([3, 4]))",
      .dtypes = Floating,
      .method = false};
  static Tensor call(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& offsets, std::string_view mode,
                     const std::optional<Tensor>& per_sample_weights, std::optional<std::int64_t> padding_idx,
                     bool include_last_offset);
};

inline Tensor embedding(const Tensor& x, const Tensor& weight, std::optional<std::int64_t> padding_idx = std::nullopt) {
  return Embedding::call(x, weight, padding_idx);
}
inline Tensor embedding_bag(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& offsets = std::nullopt,
                            std::string_view mode = "mean",
                            const std::optional<Tensor>& per_sample_weights = std::nullopt,
                            std::optional<std::int64_t> padding_idx = std::nullopt, bool include_last_offset = false) {
  return EmbeddingBag::call(x, weight, offsets, mode, per_sample_weights, padding_idx, include_last_offset);
}

}  // namespace lamella
