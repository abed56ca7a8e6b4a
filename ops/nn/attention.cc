#include "ops/nn/attention.h"

#include <cmath>
#include <limits>

#include "ops/creation/creation.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/where.h"
#include "ops/linalg/matmul.h"
#include "ops/movement/cast.h"
#include "ops/nn/attention_tiles.h"
#include "ops/nn/dropout.h"
#include "ops/nn/softmax.h"
#include "ops/reduce/sum.h"
#include "ops/shape/broadcast.h"
#include "ops/shape/permute.h"
#include "ops/shape/reshape.h"
#include "ops/support/autocast.h"
#include "ops/support/checks.h"
#include "ops/support/dtype_limits.h"
#include "ops/support/dtypes.h"
#include "ops/support/hidden.h"
#include "ops/support/layer.h"

namespace lamella {
namespace {

constexpr const char* kName = "scaled_dot_product_attention";

/// Returns the matrix of probabilities, composed of operators. Hidden scores stay finite; a row without any visible
/// score is 0 and has a gradient of 0. A mask of numbers hides where it is minus infinity, and only there.
Tensor probabilities(const Tensor& query, const Tensor& key, const Tensor& mask, const AttentionSettings& settings) {
  Tensor scores = matmul(query * settings.scale, matrix_transpose(key));
  Tensor visible;
  if (settings.causal) {
    const Tensor row = arange(0, Scalar(scores.size(-2)), 1, DType::Int64, scores.device());
    const Tensor column = arange(0, Scalar(scores.size(-1)), 1, DType::Int64, scores.device());
    visible = expand_dims(row, -1) >= column;
  } else if (mask.defined() && mask.dtype() == DType::Bool) {
    visible = mask;
  } else if (mask.defined()) {
    scores = scores + mask;
    visible = not_equal(scores, -std::numeric_limits<double>::infinity());
  }
  if (!visible.defined()) return softmax(scores);
  return where(visible, softmax(where(visible, scores, -float_limits(scores.dtype()).max)), 0);
}

/// State saved besides the tensors.
struct Saved {
  AttentionSettings settings;
  bool masked = false;
};

/// Attention by tiles; see Note [Attention by tiles]. The mask is a constant here, and all leading axes are equal.
struct AttentionFn : OperatorLayer<AttentionFn> {
  static constexpr const char* name = kName;

  static Tensor forward(Context& ctx, const Tensor& query, const Tensor& key, const Tensor& value,
                        const std::optional<Tensor>& mask, const AttentionSettings& settings) {
    const AttentionResult result = run(query, key, value, mask.value_or(Tensor()), settings);
    if (ctx.recording()) {
      ctx.state<Saved>() = {settings, mask.has_value()};
      if (mask) {
        ctx.save_for_backward(query, key, value, result.out, result.totals, *mask);
      } else {
        ctx.save_for_backward(query, key, value, result.out, result.totals);
      }
    }
    return result.out;
  }

  static TensorList backward(Context& ctx, const Tensor& dout) {
    const TensorList saved = ctx.saved_tensors();
    const auto& [settings, masked] = ctx.state<Saved>();
    const Tensor mask = masked ? saved[5] : Tensor();
    AttentionGradients grads;
    const Tensor operands[] = {saved[0], saved[1], saved[2], dout};
    if (autograd::is_grad_enabled() || autograd::any_dual(operands)) {
      grads = composed(saved[0], saved[1], saved[2], mask, dout, settings);
    } else {
      grads = run_backward(saved[0], saved[1], saved[2], mask, {saved[3], saved[4]}, dout, settings);
    }
    TensorList list{grads.query, grads.key, grads.value};
    if (masked) list.emplace_back();
    return list;
  }

  /// With probabilities P and changes dS of the scores: dP = P (dS - sum(P dS)).
  static Tensor jvp(Context& ctx, const TensorList& tangents) {
    const TensorList saved = ctx.saved_tensors();
    const auto& [settings, masked] = ctx.state<Saved>();
    const Tensor p = probabilities(saved[0], saved[1], masked ? saved[5] : Tensor(), settings);
    Tensor ds;
    if (tangents[0].defined()) ds = matmul(tangents[0], matrix_transpose(saved[1]));
    if (tangents[1].defined()) {
      const Tensor by_key = matmul(saved[0], matrix_transpose(tangents[1]));
      ds = ds.defined() ? ds + by_key : by_key;
    }
    Tensor dout;
    if (ds.defined()) {
      ds = ds * settings.scale;
      dout = matmul(dropped(p * (ds - sum(p * ds, -1, true)), settings), saved[2]);
    }
    if (!tangents[2].defined()) return dout;
    const Tensor by_value = matmul(dropped(p, settings), tangents[2]);
    return dout.defined() ? dout + by_value : by_value;
  }

 private:
  static Tensor dropped(const Tensor& p, const AttentionSettings& settings) {
    return settings.dropout > 0 ? p * attention_dropout(p.shape(), p.dtype(), p.device(), settings) : p;
  }

  static AttentionGradients composed(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask,
                                     const Tensor& dout, const AttentionSettings& settings) {
    const Tensor p = probabilities(query, key, mask, settings);
    const Tensor dp = dropped(matmul(dout, matrix_transpose(value)), settings);
    const Tensor ds = p * (dp - sum(dp * p, -1, true)) * settings.scale;
    return {matmul(ds, key), matmul(matrix_transpose(ds), query), matmul(matrix_transpose(dropped(p, settings)), dout)};
  }

  /// Runs on the physical tensors; see Note [Batched tensors].
  static AttentionResult run(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask,
                             const AttentionSettings& settings) {
    const HiddenAxes axes = axes_of({&query, &key, &value, &mask});
    if (axes.empty()) return attention_forward(query, key, value, mask, settings);
    const AttentionResult result = attention_forward(whole(query, axes), whole(key, axes), whole(value, axes),
                                                     whole_mask(mask, axes, query.ndim()), settings);
    return {hide_in_place(result.out, axes), hide_in_place(result.totals, axes)};
  }
  static AttentionGradients run_backward(const Tensor& query, const Tensor& key, const Tensor& value,
                                         const Tensor& mask, const AttentionResult& result, const Tensor& dout,
                                         const AttentionSettings& settings) {
    const HiddenAxes axes = axes_of({&query, &key, &value, &mask, &result.out, &dout});
    if (axes.empty()) return attention_backward(query, key, value, mask, result, dout, settings);
    const AttentionGradients grads = attention_backward(
        whole(query, axes), whole(key, axes), whole(value, axes), whole_mask(mask, axes, query.ndim()),
        {whole(result.out, axes), whole(result.totals, axes)}, whole(dout, axes), settings);
    return {hide_in_place(grads.query, axes), hide_in_place(grads.key, axes), hide_in_place(grads.value, axes)};
  }
  static HiddenAxes axes_of(std::initializer_list<const Tensor*> given) {
    SmallVector<const Tensor*, 6> list;
    for (const Tensor* x : given) {
      if (x->defined()) list.push_back(x);
    }
    return is_batched(list) ? hidden_axes(list) : HiddenAxes();
  }
  static Tensor whole(const Tensor& x, const HiddenAxes& axes) { return physical(x, axes, 0, MissingAxis::Repeated); }
  static Tensor whole_mask(const Tensor& mask, const HiddenAxes& axes, std::size_t ndim) {
    return mask.defined() ? physical(mask, axes, ndim) : mask;
  }
};

void check_operands(const Tensor& query, const Tensor& key, const Tensor& value) {
  for (const Tensor* x : {&query, &key, &value}) {
    check_defined(*x, kName);
    check_same_device(query, *x, kName);
    if (x->dtype() != query.dtype() || !is_floating(x->dtype())) {
      fail<TypeError>("[", kName, "] query, key and value must have one floating dtype, got ", query.dtype(), ", ",
                      key.dtype(), " and ", value.dtype());
    }
  }
  if (query.ndim() < 2 || key.ndim() < 2 || value.ndim() < 2 || key.size(-1) != query.size(-1) ||
      key.size(-2) != value.size(-2)) {
    fail<ValueError>("[", kName, "] needs query [.., L, E], key [.., S, E] and value [.., S, Ev], got the shapes ",
                     query.shape(), ", ", key.shape(), " and ", value.shape());
  }
}

std::int64_t heads_of(const Tensor& x) { return x.ndim() < 3 ? 1 : x.size(-3); }

void check_heads(const Tensor& x, std::int64_t heads) {
  if (x.ndim() < 3 || x.size(-3) == 0 || heads % x.size(-3) != 0) {
    fail<ValueError>("[", kName, "] with enable_gqa the heads of query, here ", heads,
                     ", must be a multiple of those of key and value, got the shape ", x.shape());
  }
}

/// Repeats each head of x so that there are `heads`.
Tensor repeat_heads(const Tensor& x, std::int64_t heads) {
  const std::int64_t times = heads / x.size(-3);
  if (times == 1) return x;
  Dims shape(x.shape().begin(), x.shape().end() - 2);
  Dims joined = shape;
  shape.push_back(times);
  joined.back() = heads;
  for (const std::int64_t size : {x.size(-2), x.size(-1)}) {
    shape.push_back(size);
    joined.push_back(size);
  }
  return reshape(broadcast_to(expand_dims(x, -3), shape), joined);
}

Tensor with_leading(const Tensor& x, const Dims& leading) {
  Dims shape = leading;
  shape.push_back(x.size(-2));
  shape.push_back(x.size(-1));
  return shape == x.shape() ? x : broadcast_to(x, shape);
}

Dims leading_axes(const Tensor& x) { return {x.shape().begin(), x.shape().end() - 2}; }

/// Returns x, whose axis of heads, -3, has one element or those of all groups, with an axis of groups and one within.
Tensor with_groups(const Tensor& x, std::int64_t groups) {
  if (x.ndim() < 3) return x;
  const bool all = x.size(-3) != 1;
  Dims shape(x.shape().begin(), x.shape().end() - 3);
  for (const std::int64_t size : {all ? groups : 1, all ? x.size(-3) / groups : 1, x.size(-2), x.size(-1)})
    shape.push_back(size);
  return reshape(x, shape);
}

}  // namespace

Tensor ScaledDotProductAttention::call(const Tensor& query, const Tensor& key, const Tensor& value,
                                       const std::optional<Tensor>& attn_mask, double dropout_p, bool is_causal,
                                       std::optional<double> scale, bool enable_gqa, Generator* generator) {
  if (autograd::autocast_active()) [[unlikely]]
    return call_in_autocast<ScaledDotProductAttention>(query, key, value, attn_mask, dropout_p, is_causal, scale,
                                                       enable_gqa, generator);
  check_operands(query, key, value);
  if (!(dropout_p >= 0 && dropout_p <= 1))
    fail<ValueError>("[", kName, "] dropout_p must lie in [0, 1], got ", dropout_p);
  if (attn_mask && is_causal)
    fail<ValueError>("[", kName, "] takes attn_mask or is_causal, not both: put the one into the other");
  if (attn_mask) check_same_device(query, *attn_mask, kName);
  if (attn_mask && attn_mask->dtype() != DType::Bool && attn_mask->dtype() != query.dtype()) {
    if (attn_mask->dtype() != DType::Float32) {
      fail<TypeError>("[", kName, "] attn_mask must be bool, float32 or the query's ", query.dtype(), ", got ",
                      attn_mask->dtype());
    }
    // A mask in 16 bits would not be the one that was given: the least float32 would become -inf.
    const DType wide = is_half(query.dtype()) ? DType::Float32 : query.dtype();
    const Tensor result = call(cast(query, wide), cast(key, wide), cast(value, wide), cast(*attn_mask, wide), dropout_p,
                               is_causal, scale, enable_gqa, generator);
    return cast(result, query.dtype());
  }
  check_generator(kName, generator, query.device());
  Dims leading = leading_axes(query);
  for (const Tensor* x : {&key, &value}) {
    Dims axes = leading_axes(*x);
    if (enable_gqa) {
      check_heads(*x, heads_of(query));
      axes.back() = heads_of(query);
    }
    leading = broadcast_shapes(leading, axes, kName);
  }
  if (attn_mask) {
    Dims scores = leading;
    scores.push_back(query.size(-2));
    scores.push_back(key.size(-2));
    if (attn_mask->ndim() > scores.size() || broadcast_shapes(scores, attn_mask->shape(), kName) != scores)
      fail<ValueError>("[", kName, "] attn_mask must broadcast to ", scores, ", got the shape ", attn_mask->shape());
  }
  const std::int64_t groups = heads_of(key);
  if (enable_gqa && groups == heads_of(value) && heads_of(query) > groups && !query.device().is_cpu() &&
      has_attention(query, value)) {
    // An axis along which keys and values are broadcast, so that they are not repeated in memory.
    std::optional<Tensor> mask = attn_mask;
    if (mask) mask = with_groups(*mask, groups);
    const Tensor out = call(with_groups(query, groups), expand_dims(key, -3), expand_dims(value, -3), mask, dropout_p,
                            is_causal, scale, false, generator);
    Dims shape = leading;
    shape.push_back(out.size(-2));
    shape.push_back(out.size(-1));
    return reshape(out, shape);
  }
  const Tensor q = with_leading(query, leading);
  const Tensor k = with_leading(enable_gqa ? repeat_heads(key, heads_of(query)) : key, leading);
  const Tensor v = with_leading(enable_gqa ? repeat_heads(value, heads_of(query)) : value, leading);
  const double width = static_cast<double>(q.size(-1));
  AttentionSettings settings{scale.value_or(width > 0 ? 1 / std::sqrt(width) : 1), is_causal, dropout_p, 0, 0};
  if (is_half(q.dtype()) && q.device().is_cpu()) {
    const auto single = [](const Tensor& x) { return cast(x, DType::Float32); };
    std::optional<Tensor> mask = attn_mask;
    if (mask && mask->dtype() != DType::Bool) mask = single(*mask);
    return cast(call(single(q), single(k), single(v), mask, dropout_p, is_causal, settings.scale, false, generator),
                q.dtype());
  }
  const Tensor mask_operand[] = {attn_mask.value_or(Tensor())};
  const bool batched = is_batched(q) || is_batched(k) || is_batched(v) || (attn_mask && is_batched(*attn_mask));
  const bool mask_varies = attn_mask && (attn_mask->requires_grad() || autograd::any_dual(mask_operand));
  // Batched tensors draw for each of their parts, as dropout() does.
  const bool draws = dropout_p > 0 && !batched && !q.device().is_meta();
  if (draws) {
    Generator& source = generator ? *generator : default_generator(q.device());
    const std::int64_t elements = count_elements(leading) * q.size(-2) * k.size(-2);
    const GeneratorState state = source.reserve(static_cast<std::uint64_t>((elements + 3) / 4));
    settings.seed = state.seed;
    settings.offset = state.offset;
  }
  if (!has_attention(q, v) || mask_varies || (batched && dropout_p > 0)) {
    const Tensor p = probabilities(q, k, attn_mask.value_or(Tensor()), settings);
    if (!draws) return matmul(dropout(p, dropout_p, true, generator), v);
    return matmul(p * attention_dropout(p.shape(), p.dtype(), p.device(), settings), v);
  }
  return AttentionFn::apply(q, k, v, attn_mask, settings);
}

}  // namespace lamella
