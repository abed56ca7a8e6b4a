#include "ops/nn/linear.h"

#include "engine/autograd/graph/running_pass.h"
#include "engine/core/modes.h"
#include "engine/runtime/deterministic.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/linalg/gemm.h"
#include "ops/linalg/matmul.h"
#include "ops/movement/cast.h"
#include "ops/reduce/sum.h"
#include "ops/shape/broadcast.h"
#include "ops/shape/hide.h"
#include "ops/shape/permute.h"
#include "ops/shape/reshape.h"
#include "ops/support/autocast.h"
#include "ops/support/checks.h"
#include "ops/support/fused_products.h"
#include "ops/support/hidden.h"
#include "ops/support/layer.h"
#include "ops/support/transposed.h"

namespace lamella {
namespace {

/// Computes linear on the rows of all examples; see Note [Batched tensors].
Tensor linear_of_examples(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias) {
  if (is_batched(weight) || (bias && is_batched(*bias))) {
    const Tensor y = matmul(x, matrices_transposed(weight));
    return bias ? add(y, *bias) : y;
  }
  const HiddenAxes axes = *x->hidden;
  const Tensor rows = physical(x, axes);
  Dims shape = rows.shape();
  shape.back() = weight.size(0);
  const Tensor out = empty(shape, x.dtype(), x.device());
  const Dims flat{count_elements(DimsView(shape).first(shape.size() - 1)), shape.back()};
  write_product(reshape(rows, {flat[0], x.size(1)}), matrices_transposed(weight), bias.value_or(Tensor()),
                make_view(out, flat, contiguous_strides(flat)), "linear");
  return hide_in_place(out, axes);
}

Tensor rows_times_weight(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias) {
  if (is_batched(x) || is_batched(weight) || (bias && is_batched(*bias))) [[unlikely]]
    return linear_of_examples(x, weight, bias);
  Tensor out = empty({x.size(0), weight.size(0)}, x.dtype(), x.device());
  write_product(x, matrices_transposed(weight), bias.value_or(Tensor()), out, "linear");
  return out;
}

/// Computes the gradients of weight and bias in one pass over dy, where the device does that, and returns true.
bool weight_and_bias_gradient(const Tensor& x, const Tensor& dy, TensorList& grads) {
  const Device device = dy.device();
  if (!device.is_cuda() || !matmul_and_sum_on_cuda) return false;
  // The order in which a library's fused product adds is not promised.
  if (autograd::is_grad_enabled() || autograd::modes().interceptors || are_deterministic_algorithms_enabled())
    return false;
  if (is_batched(x) || is_batched(dy) || x.numel() == 0 || dy.numel() == 0) return false;
  const Tensor dweight = empty({dy.size(1), x.size(1)}, dy.dtype(), device);
  const Tensor dbias = empty({dy.size(1)}, dy.dtype(), device);
  if (!matmul_and_sum_on_cuda(matrices_transposed(dy), x, dweight, dbias, "linear")) return false;
  grads[1] = dweight;
  grads[2] = dbias;
  return true;
}

/// The linear layer on rows of x; the bias may be absent.
struct LinearLayer : OperatorLayer<LinearLayer> {
  static constexpr std::string_view name = "linear";

  static Tensor forward(Context& ctx, const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias) {
    Tensor out = rows_times_weight(x, weight, bias);
    if (ctx.recording()) ctx.save_for_backward(x, weight);
    return out;
  }
  static TensorList backward(Context& ctx, const Tensor& dy) {
    const auto [x, weight] = ctx.saved_tensors<2>();
    const auto& edges = ctx.node()->edges();
    TensorList grads(edges.size());
    if (autograd::is_needed(edges[0])) grads[0] = matmul(dy, weight);
    const bool want_weight = autograd::is_needed(edges[1]);
    const bool want_bias = edges.size() > 2 && autograd::is_needed(edges[2]);
    if (want_weight && want_bias && weight_and_bias_gradient(x, dy, grads)) return grads;
    if (want_weight) {
      Tensor row_grads = dy;
      Tensor rows = x;
      dead_axes_to_rows(row_grads, rows, weight->hidden.get());
      grads[1] = matmul(matrix_transpose(row_grads), rows);
    }
    if (want_bias) grads[2] = sum(dy, 0);
    return grads;
  }
  /// dx @ weight.T + x @ dweight.T + dbias
  static Tensor jvp(Context& ctx, const TensorList& tangents) {
    const auto [x, weight] = ctx.saved_tensors<2>();
    const std::optional<Tensor> bias =
        tangents.size() > 2 && tangents[2].defined() ? std::optional(tangents[2]) : std::nullopt;
    if (!tangents[1].defined()) {
      if (tangents[0].defined()) return linear(tangents[0], weight, bias);
      return bias ? broadcast_to(*bias, Dims{x.size(0), weight.size(0)}) : Tensor();
    }
    const Tensor by_weight = linear(x, tangents[1], bias);
    return tangents[0].defined() ? add(linear(tangents[0], weight), by_weight) : by_weight;
  }
};

}  // namespace

Tensor Linear::call(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias) {
  if (autograd::autocast_active()) [[unlikely]]
    return call_in_autocast<Linear>(x, weight, bias);
  check_defined(x, info.name);
  check_defined(weight, info.name);
  if (bias) check_defined(*bias, info.name);
  if (weight.ndim() == 1) {
    const Tensor y = call(x, expand_dims(weight, 0), std::nullopt);
    if (bias && bias->ndim() > 0) fail<ValueError>("[linear] bias must be a 0-d tensor, got ", bias->shape());
    return bias ? add(squeeze(y, -1), *bias) : squeeze(y, -1);
  }
  if (weight.ndim() != 2) fail<ValueError>("[linear] weight must have the shape [out, in], got ", weight.shape());
  if (x.ndim() == 0 || x.shape().back() != weight.size(1)) {
    fail<ValueError>("[linear] the last size of x and weight's differ (x: ", x.shape(), ", weight: ", weight.shape(),
                     ")");
  }
  if (bias && (bias->ndim() != 1 || bias->size(0) != weight.size(0))) {
    fail<ValueError>("[linear] bias must have the shape [", weight.size(0), "], got ", bias->shape());
  }
  check_same_device(x, weight, info.name);
  if (bias) check_same_device(x, *bias, info.name);
  DType dtype = promote_types(x.dtype(), weight.dtype());
  if (bias) dtype = promote_types(dtype, bias->dtype());
  if (!is_floating(dtype)) {
    if (dtype == DType::Bool) refuse_dtype(dtype, Numeric, info.name);
    const Tensor y = matmul(x, matrix_transpose(weight));
    return bias ? add(y, *bias) : y;
  }
  const Tensor values = cast(x, dtype);
  const Tensor matrix = cast(weight, dtype);
  std::optional<Tensor> added;
  if (bias) added = contiguous(cast(*bias, dtype));
  if (x.ndim() == 2) return LinearLayer::apply(values, matrix, added);
  Dims shape = x.shape();
  std::int64_t rows = 1;
  for (std::size_t i = 0; i + 1 < shape.size(); ++i) rows *= shape[i];
  shape.back() = weight.size(0);
  return reshape(LinearLayer::apply(reshape(values, {rows, weight.size(1)}), matrix, added), shape);
}

}  // namespace lamella
