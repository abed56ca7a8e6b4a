#pragma once

// Functions that write into a given tensor, and those that layers' backwards call.

#include <optional>
#include <string_view>

#include "ATen/MoreFunctions.h"
#include "ops/elementwise/gelu.h"

namespace at {

namespace detail {
/// Writes a result into `out`, which gets its shape if it has another one; RuntimeError if the dtype is of a higher
/// kind.
inline Tensor& give(Tensor& out, const Tensor& result) {
  if (out.sizes().vec() != result.sizes().vec()) out.resize_(result.sizes());
  return out.give_(result);
}
}  // namespace detail

inline Tensor& add_out(Tensor& out, const Tensor& a, const Tensor& b, const Scalar& alpha = 1) {
  return detail::give(out, a.add(b, alpha));
}
inline Tensor& sub_out(Tensor& out, const Tensor& a, const Tensor& b, const Scalar& alpha = 1) {
  return detail::give(out, a.sub(b, alpha));
}
inline Tensor& mul_out(Tensor& out, const Tensor& a, const Tensor& b) { return detail::give(out, a.mul(b)); }
inline Tensor& div_out(Tensor& out, const Tensor& a, const Tensor& b) { return detail::give(out, a.div(b)); }
inline Tensor& pow_out(Tensor& out, const Tensor& a, const Scalar& b) { return detail::give(out, a.pow(b)); }
inline Tensor& mm_out(Tensor& out, const Tensor& a, const Tensor& b) { return detail::give(out, a.mm(b)); }
inline Tensor& bmm_out(Tensor& out, const Tensor& a, const Tensor& b) { return detail::give(out, a.bmm(b)); }
inline Tensor& matmul_out(Tensor& out, const Tensor& a, const Tensor& b) { return detail::give(out, a.matmul(b)); }
inline Tensor& addmm_out(Tensor& out, const Tensor& x, const Tensor& a, const Tensor& b, const Scalar& beta = 1,
                         const Scalar& alpha = 1) {
  return detail::give(out, x.addmm(a, b, beta, alpha));
}
inline Tensor& baddbmm_out(Tensor& out, const Tensor& x, const Tensor& a, const Tensor& b, const Scalar& beta = 1,
                           const Scalar& alpha = 1) {
  return detail::give(out, x.baddbmm(a, b, beta, alpha));
}
inline Tensor& cat_out(Tensor& out, TensorList tensors, std::int64_t axis = 0) {
  return detail::give(out, cat(tensors, axis));
}
inline Tensor& stack_out(Tensor& out, TensorList tensors, std::int64_t axis = 0) {
  return detail::give(out, stack(tensors, axis));
}
inline Tensor& sum_out(Tensor& out, const Tensor& x, OptionalIntArrayRef axes, bool keepdim = false,
                       std::optional<ScalarType> type = std::nullopt) {
  return detail::give(out, x.sum(axes, keepdim, type));
}
inline Tensor& mean_out(Tensor& out, const Tensor& x, OptionalIntArrayRef axes, bool keepdim = false) {
  return detail::give(out, x.mean(axes, keepdim));
}
inline Tensor& sigmoid_out(Tensor& out, const Tensor& x) { return detail::give(out, x.sigmoid()); }
inline Tensor& tanh_out(Tensor& out, const Tensor& x) { return detail::give(out, x.tanh()); }
inline Tensor& exp_out(Tensor& out, const Tensor& x) { return detail::give(out, x.exp()); }
inline Tensor& index_select_out(Tensor& out, const Tensor& x, std::int64_t axis, const Tensor& places) {
  return detail::give(out, x.index_select(axis, places));
}

// Gradients of activations, from that of the result and the result or the argument.
inline Tensor sigmoid_backward(const Tensor& gradient, const Tensor& result) {
  return gradient * (1 - result) * result;
}
inline Tensor tanh_backward(const Tensor& gradient, const Tensor& result) { return gradient * (1 - result * result); }
inline Tensor threshold_backward(const Tensor& gradient, const Tensor& x, const Scalar& threshold) {
  return where(x > threshold, gradient, Scalar(0));
}
inline Tensor leaky_relu_backward(const Tensor& gradient, const Tensor& x, const Scalar& slope, bool /*is_result*/) {
  return where(x > 0, gradient, gradient * slope);
}
inline Tensor hardtanh_backward(const Tensor& gradient, const Tensor& x, const Scalar& min, const Scalar& max) {
  return where((x > min).logical_and(x < max), gradient, Scalar(0));
}
inline Tensor softplus_backward(const Tensor& gradient, const Tensor& x, const Scalar& beta, const Scalar& threshold) {
  const Tensor scaled = x * beta;
  return where(scaled > threshold, gradient, gradient * scaled.sigmoid());
}
/// `value` is the result if `is_result`, otherwise the argument.
inline Tensor elu_backward(const Tensor& gradient, const Scalar& alpha, const Scalar& scale, const Scalar& input_scale,
                           bool is_result, const Tensor& value) {
  const double slope = alpha.toDouble() * scale.toDouble();
  const Tensor below = is_result ? value + slope : (value * input_scale).exp() * slope;
  return where(value <= 0, gradient * input_scale * below, gradient * scale);
}
inline Tensor silu_backward(const Tensor& gradient, const Tensor& x) {
  const Tensor s = x.sigmoid();
  return gradient * s * (1 + x * (1 - s));
}
inline Tensor gelu_backward(const Tensor& gradient, const Tensor& x, std::string_view approximate = "none") {
  return gradient * Tensor(approximate == "tanh" ? lamella::gelu_tanh_slope(x) : lamella::gelu_slope(x));
}
inline Tensor _softmax_backward_data(const Tensor& gradient, const Tensor& result, std::int64_t axis, ScalarType type) {
  return (result * (gradient - (gradient * result).sum(axis, true))).to(type);
}
inline Tensor _log_softmax_backward_data(const Tensor& gradient, const Tensor& result, std::int64_t axis,
                                         ScalarType type) {
  return (gradient - result.exp() * gradient.sum(axis, true)).to(type);
}

}  // namespace at
