#pragma once

#include <optional>

#include "engine/core/tensor.h"
#include "engine/runtime/generator.h"
#include "ops/op_info.h"

namespace lamella {

struct ScaledDotProductAttention {
  static constexpr OpInfo info{
      .name = "scaled_dot_product_attention",
      .doc =
          "softmax(query @ key.mT * scale + attn_mask) @ value (Vaswani et al., 2017), for query [.., L, E], key "
          "[.., S, E] and value [.., S, Ev], whose leading axes broadcast. attn_mask broadcasts to [.., L, S]: "
          "bools say which keys a query sees, numbers, of float32 or the query's dtype, are added. is_causal lets "
          "query i see the keys up to i. scale is 1 / sqrt(E) unless given. dropout_p is the probability with which "
          "an element of the softmax is dropped. enable_gqa lets each of fewer heads (axis -3) of key and value "
          "serve several of query. A query that sees no key gives 0. The matrix of scores is never whole: forward "
          "and backward go through it by tiles (Dao et al., 2022). Second derivatives, and those by attn_mask, do "
          "build it, and so do float64 and rows of more than 256 numbers on CUDA.",
      .parameters =
          "query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, *, scale=None, enable_gqa=False, "
          "generator=None",
      .example = "scaled_dot_product_attention(ones([2, 3, 4]), ones([2, 5, 4]), ones([2, 5, 6]))",
      .dtypes = Floating,
      .method = false,
      .autocast = Autocast::Lower};
  /// Throws ValueError for shapes that do not fit, a dropout_p outside of [0, 1], or an attn_mask together with
  /// is_causal; TypeError for different dtypes, or an attn_mask that is neither bool nor float32 nor of their dtype.
  static Tensor call(const Tensor& query, const Tensor& key, const Tensor& value,
                     const std::optional<Tensor>& attn_mask, double dropout_p, bool is_causal,
                     std::optional<double> scale, bool enable_gqa, Generator* generator);
};

inline Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                           const std::optional<Tensor>& attn_mask = std::nullopt, double dropout_p = 0,
                                           bool is_causal = false, std::optional<double> scale = std::nullopt,
                                           bool enable_gqa = false, Generator* generator = nullptr) {
  return ScaledDotProductAttention::call(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa,
                                         generator);
}

}  // namespace lamella
