#include "ops/nn/cuda/attention.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <optional>

#include "engine/core/modes.h"
#include "engine/runtime/cuda/check.h"
#include "engine/runtime/cuda/device_guard.h"
#include "engine/runtime/cuda/draws.h"
#include "engine/runtime/cuda/stream.h"
#include "ops/creation/creation.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/movement/cast.h"
#include "ops/nn/attention_tiles.h"
#include "ops/nn/cuda/attention_cudnn.h"
#include "ops/shape/broadcast.h"
#include "ops/shape/join.h"
#include "ops/shape/reshape.h"
#include "ops/support/device_kernels.h"
#include "ops/support/dtypes.h"

// Note [Attention on CUDA]
// As on the CPU (Note [Attention by tiles]) no scores are ever in memory. A block of a kernel has some rows of queries,
// whose results it sums while it runs over the keys; the gradients of keys and values are summed by blocks of keys that
// run over the queries, those of queries by blocks of these, so that each number is one thread's, always in the same
// order, at the price of scores that are computed twice. Numbers of 16 bits are multiplied on tensor cores and summed
// in float32; float32 is not rounded. float64 and long rows are left to the composition of operators. Where cuDNN
// computes it (Note [Attention by cuDNN]), its result says so by totals of another shape, of which the kernels here
// compute gradients, too.

namespace lamella::cuda {
namespace {

constexpr std::size_t kMatrixAxes = 3;

/// Returns x such that rows are contiguous.
Tensor with_rows(const Tensor& x) { return x.size(-1) <= 1 || x.strides().back() == 1 ? x : contiguous(x); }

/// The operands of a call, with equal leading axes of which as few are left as their strides allow.
class Operands {
 public:
  /// `dout` may be undefined.
  Operands(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask, const Tensor& dout,
           const AttentionSettings& settings)
      : query_(with_rows(query)),
        key_(with_rows(key)),
        value_(with_rows(value)),
        dout_(dout.defined() ? with_rows(dout) : dout) {
    const Dims leading(query.shape().begin(), query.shape().end() - 2);
    matrices_ = count_elements(leading);
    if (mask.defined()) {
      Dims shape = leading;
      shape.push_back(query.size(-2));
      shape.push_back(key.size(-2));
      mask_ = broadcast_to(mask, shape);
    }
    if (!merge(leading)) {
      for (Tensor* x : {&query_, &key_, &value_, &dout_, &mask_}) {
        if (x->defined()) *x = contiguous(*x);
      }
      merge(leading);
    }
    problem_.query = rows(query_);
    problem_.key = rows(key_);
    problem_.value = rows(value_);
    if (mask_.defined()) {
      problem_.mask = {.data = mask_.raw_data(),
                       .query = mask_.strides()[mask_.ndim() - 2],
                       .key = mask_.strides().back(),
                       .numbers = mask_.dtype() != DType::Bool};
      place(mask_, problem_.mask.strides);
    }
    for (std::size_t i = 0; i < 2; ++i) problem_.inner[i] = axis_size(i + 1);
    problem_.queries = static_cast<std::int32_t>(query.size(-2));
    problem_.keys = static_cast<std::int32_t>(key.size(-2));
    problem_.width = static_cast<std::int32_t>(query.size(-1));
    problem_.value_width = static_cast<std::int32_t>(value.size(-1));
    problem_.scale = static_cast<float>(settings.scale);
    problem_.causal = settings.causal;
    if (settings.dropout > 0) drop(settings);
  }

  const AttentionProblem& problem() const { return problem_; }
  std::int64_t matrices() const { return matrices_; }
  AttentionRows dout() const { return rows(dout_); }

 private:
  /// An axis of matrices, which stands for one or several neighbors of the leading axes, of which `last` is the last.
  struct Axis {
    std::int64_t size;
    std::size_t last;
  };

  /// Merges neighboring axes that lie in all operands like one. Returns false if too many are left.
  bool merge(const Dims& leading) {
    axes_.clear();
    for (std::size_t i = 0; i < leading.size(); ++i) {
      if (leading[i] == 1) continue;
      const auto joins = [&](const Tensor& x) {
        return !x.defined() || x.strides()[axes_.back().last] == x.strides()[i] * leading[i];
      };
      if (!axes_.empty() && joins(query_) && joins(key_) && joins(value_) && joins(dout_) && joins(mask_)) {
        axes_.back() = {axes_.back().size * leading[i], i};
      } else {
        axes_.push_back({leading[i], i});
      }
    }
    return axes_.size() <= kMatrixAxes;
  }

  /// The last of the axes is that of number kMatrixAxes - 1.
  std::int64_t axis_size(std::size_t i) const {
    const std::size_t missing = kMatrixAxes - axes_.size();
    return i < missing ? 1 : axes_[i - missing].size;
  }
  void place(const Tensor& x, std::int64_t (&strides)[kMatrixAxes]) const {
    const std::size_t missing = kMatrixAxes - axes_.size();
    for (std::size_t i = missing; i < kMatrixAxes; ++i) strides[i] = x.strides()[axes_[i - missing].last];
  }

  AttentionRows rows(const Tensor& x) const {
    AttentionRows rows{.data = x.raw_data(), .row = x.strides()[x.ndim() - 2]};
    place(x, rows.strides);
    const std::int64_t chunk = 16 / static_cast<std::int64_t>(item_size(x.dtype()));
    rows.aligned =
        reinterpret_cast<std::uintptr_t>(rows.data) % 16 == 0 && rows.row % chunk == 0 && x.size(-1) % chunk == 0;
    for (const std::int64_t stride : rows.strides) rows.aligned = rows.aligned && stride % chunk == 0;
    return rows;
  }

  void drop(const AttentionSettings& settings) {
    // A number below this, of 24 bits, is less than the probability in float32.
    problem_.dropout.threshold = static_cast<std::uint32_t>(std::ceil(static_cast<float>(settings.dropout) * 0x1p24F));
    problem_.dropout.factor = settings.dropout < 1 ? static_cast<float>(1 / (1 - settings.dropout)) : 0;
    problem_.dropout.seed = settings.seed;
    problem_.dropout.offset = settings.offset;
    problem_.dropout.begin = begin_of_draws(query_.device(), settings.seed, problem_.dropout.offset, kAttentionName);
  }

  Tensor query_;
  Tensor key_;
  Tensor value_;
  Tensor dout_;
  Tensor mask_;
  SmallVector<Axis, kMatrixAxes> axes_;
  std::int64_t matrices_;
  AttentionProblem problem_;
};

bool takes(const Tensor& query, const Tensor& value) {
  if (!is_half(query.dtype()) && query.dtype() != DType::Float32) return false;
  if (std::max(query.size(-1), value.size(-1)) > kMostAttentionWidth) return false;
  int major = 0;
  check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, query.device().index), kAttentionName);
  return major >= 8;
}

/// True if numbers of 16 bits are computed in float32.
bool widened(const Tensor& query, const Tensor& value) {
  return is_half(query.dtype()) && std::max(query.size(-1), value.size(-1)) > kMostHalfAttentionWidth;
}
Tensor wide(const Tensor& x) { return x.defined() && is_half(x.dtype()) ? cast(x, DType::Float32) : x; }

/// Returns a tensor without gaps, whose axes follow each other in memory as x's do.
Tensor empty_in_order_of(const Tensor& x, const Dims& shape) {
  SmallVector<std::size_t, 5> order;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) order.push_back(axis);
  std::ranges::stable_sort(order, std::ranges::greater(), [&](std::size_t axis) { return x.strides()[axis]; });
  Dims strides(shape.size(), 1);
  std::int64_t elements = 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    strides[order[i]] = elements;
    elements *= shape[order[i]];
  }
  if (is_contiguous(shape, strides)) return empty(shape, x.dtype(), x.device());
  // Not a view: a function may write into it in place, which is not recorded for tensors that share memory.
  auto* const memory = new Tensor(empty({elements}, x.dtype(), x.device()));
  return from_memory(
      memory->raw_data(), shape, strides, x.dtype(), x.device(), [](void* held) { delete static_cast<Tensor*>(held); },
      memory);
}

/// cuDNN's result, whose totals are natural logarithms of sums, [.., L]; none where it does not compute it.
std::optional<AttentionResult> forward_by_cudnn(const Tensor& query, const Tensor& key, const Tensor& value,
                                                const Dims& shape, const AttentionSettings& settings) {
  const AttentionResult result{empty_in_order_of(query, shape),
                               empty(Dims(shape.begin(), shape.end() - 1), DType::Float32, query.device())};
  if (!attention_forward_by_cudnn(query, key, value, settings, result.out, result.totals)) return std::nullopt;
  return result;
}
bool is_of_cudnn(const AttentionResult& result) { return result.totals.ndim() < result.out.ndim(); }

/// Totals of cuDNN's as the kernels here read them: a score to subtract first, of which there is none, and a power of
/// two.
Tensor in_parts(const Tensor& totals) {
  const Tensor whole = expand_dims(totals, -1) * std::numbers::log2e;
  return concat({zeros_like(whole), whole}, -1);
}

AttentionResult forward(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask,
                        const AttentionSettings& settings) {
  if (widened(query, value)) {
    const AttentionResult result = forward(wide(query), wide(key), wide(value), wide(mask), settings);
    return {cast(result.out, query.dtype()), result.totals};
  }
  const DeviceGuard guard(query.device());
  Dims shape(query.shape().begin(), query.shape().end() - 1);
  shape.push_back(value.size(-1));
  if (!mask.defined()) {
    if (const auto result = forward_by_cudnn(query, key, value, shape, settings)) return *result;
  }
  const Tensor out = empty(shape, query.dtype(), query.device());
  shape.back() = 2;
  const Tensor totals = empty(shape, DType::Float32, query.device());
  if (totals.numel() == 0) return {out, totals};
  const Operands operands(query, key, value, mask, Tensor(), settings);
  run_attention(operands.problem(), query.dtype(), operands.matrices(), {out.raw_data(), totals.data<float>()},
                current_stream(query.device()));
  return {out, totals};
}

AttentionGradients backward(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask,
                            const AttentionResult& result, const Tensor& dout, const AttentionSettings& settings) {
  if (widened(query, value)) {
    const AttentionGradients grads = backward(wide(query), wide(key), wide(value), wide(mask),
                                              {wide(result.out), result.totals}, wide(dout), settings);
    return {cast(grads.query, query.dtype()), cast(grads.key, query.dtype()), cast(grads.value, query.dtype())};
  }
  const DeviceGuard guard(query.device());
  if (is_of_cudnn(result)) {
    const auto room = [](const Tensor& x) { return empty_in_order_of(x, x.shape()); };
    const AttentionGradients grads{room(query), room(key), room(value)};
    const Tensor packed = overlaps_itself(dout.shape(), dout.strides()) ? contiguous(dout) : dout;
    if (attention_backward_by_cudnn(query, key, value, result, packed, settings, grads)) return grads;
    return backward(query, key, value, mask, {result.out, in_parts(result.totals)}, dout, settings);
  }
  const auto room = [&](const Tensor& x) { return empty(x.shape(), x.dtype(), x.device()); };
  const AttentionGradients grads{room(query), room(key), room(value)};
  const Operands operands(query, key, value, mask, dout, settings);
  if (operands.matrices() == 0) return grads;
  const Tensor out = contiguous(result.out);
  const Tensor totals = contiguous(result.totals);
  const Tensor delta = empty({operands.matrices() * query.size(-2)}, DType::Float32, query.device());
  run_attention_gradient(operands.problem(), operands.dout(), query.dtype(), operands.matrices(),
                         {out.raw_data(), totals.data<float>()}, delta.data<float>(),
                         {grads.query.raw_data(), grads.key.raw_data(), grads.value.raw_data()},
                         current_stream(query.device()));
  return grads;
}

[[maybe_unused]] const bool kAttentionRegistered =
    register_kernel<&DeviceKernels::takes_attention>(DeviceType::CUDA, takes) &&
    register_kernel<&DeviceKernels::attention>(DeviceType::CUDA, forward) &&
    register_kernel<&DeviceKernels::attention_gradient>(DeviceType::CUDA, backward);

}  // namespace
}  // namespace lamella::cuda
