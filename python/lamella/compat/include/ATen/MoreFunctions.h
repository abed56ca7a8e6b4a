#pragma once

// PyTorch's functions of tensors that make layers, losses, orders and random numbers.

#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "ATen/Functions.h"
#include "engine/runtime/generator.h"
#include "ops/elementwise/complex.h"
#include "ops/elementwise/complex_forms.h"
#include "ops/support/promotion.h"

namespace at {

namespace detail {
inline std::optional<lamella::Tensor> given(const std::optional<Tensor>& x) {
  return x && x->defined() ? std::optional<lamella::Tensor>(*x) : std::nullopt;
}
inline std::optional<lamella::Dims> strides(IntArrayRef stride) {
  return stride.empty() ? std::nullopt : std::optional(to_dims(stride));
}
}  // namespace detail

/// Numbers of losses' reductions.
namespace Reduction {
enum Reduction : std::int64_t { None, Mean, Sum, END };
inline std::string_view name(std::int64_t reduction) {
  constexpr std::string_view kNames[] = {"none", "mean", "sum"};
  if (reduction < 0 || reduction >= END)
    lamella::fail<lamella::ValueError>("[reduction] ", reduction, " is none of 0 to 2");
  return kNames[reduction];
}
}  // namespace Reduction

// Functions for methods.
inline Tensor t(const Tensor& x) { return x.t(); }
inline Tensor baddbmm(const Tensor& x, const Tensor& a, const Tensor& b, const Scalar& beta = 1,
                      const Scalar& alpha = 1) {
  return x.baddbmm(a, b, beta, alpha);
}
inline Tensor addcmul(const Tensor& x, const Tensor& a, const Tensor& b, const Scalar& value = 1) {
  return x.addcmul(a, b, value);
}
inline Tensor addcdiv(const Tensor& x, const Tensor& a, const Tensor& b, const Scalar& value = 1) {
  return x.addcdiv(a, b, value);
}
inline Tensor amax(const Tensor& x, IntArrayRef axes = {}, bool keepdim = false) { return x.amax(axes, keepdim); }
inline Tensor amax(const Tensor& x, std::int64_t axis, bool keepdim = false) { return x.amax(axis, keepdim); }
inline Tensor amin(const Tensor& x, IntArrayRef axes = {}, bool keepdim = false) { return x.amin(axes, keepdim); }
inline Tensor amin(const Tensor& x, std::int64_t axis, bool keepdim = false) { return x.amin(axis, keepdim); }
inline Tensor logsumexp(const Tensor& x, std::int64_t axis, bool keepdim = false) { return x.logsumexp(axis, keepdim); }
inline Tensor logsumexp(const Tensor& x, IntArrayRef axes, bool keepdim = false) { return x.logsumexp(axes, keepdim); }
inline Tensor std(const Tensor& x, bool unbiased = true) { return x.std(unbiased); }
inline Tensor var(const Tensor& x, bool unbiased = true) { return x.var(unbiased); }
inline Tensor std(const Tensor& x, std::int64_t axis, bool unbiased, bool keepdim = false) {
  return x.std(axis, unbiased, keepdim);
}
inline Tensor var(const Tensor& x, std::int64_t axis, bool unbiased, bool keepdim = false) {
  return x.var(axis, unbiased, keepdim);
}
inline Tensor cumsum(const Tensor& x, std::int64_t axis) { return x.cumsum(axis); }
inline Tensor cumprod(const Tensor& x, std::int64_t axis) { return x.cumprod(axis); }
inline Tensor argmin(const Tensor& x, std::optional<std::int64_t> axis = std::nullopt, bool keepdim = false) {
  return x.argmin(axis, keepdim);
}
inline std::tuple<Tensor, Tensor> sort(const Tensor& x, std::int64_t axis = -1, bool descending = false) {
  return x.sort(axis, descending);
}
inline std::tuple<Tensor, Tensor> sort(const Tensor& x, std::optional<bool> stable, std::int64_t axis = -1,
                                       bool descending = false) {
  return x.sort(stable, axis, descending);
}
inline Tensor argsort(const Tensor& x, std::int64_t axis = -1, bool descending = false) {
  return x.argsort(axis, descending);
}
inline std::tuple<Tensor, Tensor> topk(const Tensor& x, std::int64_t k, std::int64_t axis = -1, bool largest = true,
                                       bool sorted = true) {
  return x.topk(k, axis, largest, sorted);
}
inline Tensor nonzero(const Tensor& x) { return x.nonzero(); }
inline Tensor tril(const Tensor& x, std::int64_t k = 0) { return x.tril(k); }
inline Tensor triu(const Tensor& x, std::int64_t k = 0) { return x.triu(k); }
inline Tensor flip(const Tensor& x, IntArrayRef axes) { return x.flip(axes); }
inline Tensor roll(const Tensor& x, IntArrayRef shifts, IntArrayRef axes) { return x.roll(shifts, axes); }
inline Tensor roll(const Tensor& x, std::int64_t shift, std::int64_t axis) { return x.roll(shift, axis); }
inline Tensor repeat_interleave(const Tensor& x, const Tensor& times, std::optional<std::int64_t> axis = std::nullopt) {
  return x.repeat_interleave(times, axis);
}
inline Tensor repeat_interleave(const Tensor& x, std::int64_t times, std::optional<std::int64_t> axis = std::nullopt) {
  return x.repeat_interleave(times, axis);
}
inline Tensor select(const Tensor& x, std::int64_t axis, std::int64_t i) { return x.select(axis, i); }
inline Tensor gather(const Tensor& x, std::int64_t axis, const Tensor& places, bool sparse_grad = false) {
  return x.gather(axis, places, sparse_grad);
}
inline Tensor take(const Tensor& x, const Tensor& places) { return x.take(places); }
inline Tensor scatter(const Tensor& x, std::int64_t axis, const Tensor& places, const Tensor& source) {
  return x.scatter(axis, places, source);
}
inline Tensor scatter_add(const Tensor& x, std::int64_t axis, const Tensor& places, const Tensor& source) {
  return x.scatter_add(axis, places, source);
}
inline Tensor index_select(const Tensor& x, std::int64_t axis, const Tensor& places) {
  return x.index_select(axis, places);
}
inline Tensor masked_select(const Tensor& x, const Tensor& mask) { return x.masked_select(mask); }
inline std::vector<Tensor> unbind(const Tensor& x, std::int64_t axis = 0) { return x.unbind(axis); }
inline Tensor cross(const Tensor& a, const Tensor& b, std::optional<std::int64_t> axis = std::nullopt) {
  return a.cross(b, axis);
}
inline Tensor index_copy(const Tensor& x, std::int64_t axis, const Tensor& places, const Tensor& source) {
  return x.index_copy(axis, places, source);
}
inline Tensor scatter_reduce(const Tensor& x, std::int64_t axis, const Tensor& places, const Tensor& source,
                             std::string_view reduce, bool include_self = true) {
  return x.scatter_reduce(axis, places, source, reduce, include_self);
}
inline Tensor isclose(const Tensor& a, const Tensor& b, double rtol = 1e-5, double atol = 1e-8,
                      bool equal_nan = false) {
  return lamella::isclose(a, b, rtol, atol, equal_nan);
}
inline Tensor nan_to_num(const Tensor& x, std::optional<double> nan = std::nullopt,
                         std::optional<double> posinf = std::nullopt, std::optional<double> neginf = std::nullopt) {
  return x.nan_to_num(nan, posinf, neginf);
}
inline Tensor fmax(const Tensor& a, const Tensor& b) { return lamella::fmax(a, b); }
inline Tensor fmin(const Tensor& a, const Tensor& b) { return lamella::fmin(a, b); }
inline Tensor hypot(const Tensor& a, const Tensor& b) { return lamella::hypot(a, b); }
inline Tensor copysign(const Tensor& a, const Tensor& b) { return lamella::copysign(a, b); }
inline Tensor copysign(const Tensor& a, const Scalar& b) { return lamella::copysign(a, b); }
inline Tensor tensordot(const Tensor& a, const Tensor& b, IntArrayRef axes_a, IntArrayRef axes_b) {
  return lamella::tensordot(a, b, to_dims(axes_a), to_dims(axes_b));
}
/// Makes complex numbers of their parts; without it, `complex` would name the class alone.
inline Tensor complex(const Tensor& real, const Tensor& imaginary) { return lamella::make_complex(real, imaginary); }
inline Tensor real(const Tensor& x) { return x.is_complex() ? Tensor(lamella::real(x)) : x; }
inline Tensor imag(const Tensor& x) { return lamella::imag(x); }
inline Tensor vstack(TensorList tensors) { return lamella::vstack(native_list(tensors)); }
inline Tensor hstack(TensorList tensors) { return lamella::hstack(native_list(tensors)); }

// Layers.
inline Tensor selu(const Tensor& x) { return lamella::selu(x); }
inline Tensor mish(const Tensor& x) { return lamella::mish(x); }
inline Tensor hardswish(const Tensor& x) { return lamella::hardswish(x); }
inline Tensor hardtanh(const Tensor& x, const Scalar& min = -1, const Scalar& max = 1) {
  return lamella::hardtanh(x, min, max);
}
inline Tensor dropout(const Tensor& x, double p, bool train) { return lamella::dropout(x, p, train); }
inline Tensor embedding(const Tensor& weight, const Tensor& places) { return lamella::embedding(places, weight); }
inline Tensor one_hot(const Tensor& x, std::int64_t classes = -1) {
  if (!x.defined()) detail::refuse_undefined("one_hot");
  return lamella::one_hot(x, classes);
}
inline Tensor prelu(const Tensor& x, const Tensor& weight) { return lamella::prelu(x, weight); }
inline Tensor celu(const Tensor& x, const Scalar& alpha = 1.0) { return lamella::celu(x, alpha); }
inline Tensor log_sigmoid(const Tensor& x) { return lamella::log_sigmoid(x); }
inline Tensor hardsigmoid(const Tensor& x) { return lamella::hardsigmoid(x); }
inline Tensor hardshrink(const Tensor& x, const Scalar& lambda = 0.5) { return lamella::hardshrink(x, lambda); }
inline Tensor softshrink(const Tensor& x, const Scalar& lambda = 0.5) { return lamella::softshrink(x, lambda); }
inline Tensor relu6(const Tensor& x) { return lamella::relu6(x); }
inline Tensor glu(const Tensor& x, std::int64_t axis = -1) { return lamella::glu(x, axis); }
inline Tensor threshold(const Tensor& x, const Scalar& threshold, const Scalar& value) {
  return lamella::threshold(x, threshold, value);
}
inline Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                           const std::optional<Tensor>& mask = std::nullopt, double dropout = 0,
                                           bool is_causal = false, std::optional<double> scale = std::nullopt) {
  return lamella::scaled_dot_product_attention(query, key, value, detail::given(mask), dropout, is_causal, scale);
}
inline Tensor layer_norm(const Tensor& x, IntArrayRef shape, const std::optional<Tensor>& weight = std::nullopt,
                         const std::optional<Tensor>& bias = std::nullopt, double eps = 1e-5) {
  return lamella::layer_norm(x, to_dims(shape), detail::given(weight), detail::given(bias), eps);
}
inline Tensor group_norm(const Tensor& x, std::int64_t groups, const std::optional<Tensor>& weight = std::nullopt,
                         const std::optional<Tensor>& bias = std::nullopt, double eps = 1e-5, bool /*cudnn*/ = true) {
  return lamella::group_norm(x, groups, detail::given(weight), detail::given(bias), eps);
}
inline Tensor batch_norm(const Tensor& x, const std::optional<Tensor>& weight, const std::optional<Tensor>& bias,
                         const std::optional<Tensor>& running_mean, const std::optional<Tensor>& running_var,
                         bool training, double momentum, double eps, bool /*cudnn*/) {
  return lamella::batch_norm(x, detail::given(running_mean), detail::given(running_var), detail::given(weight),
                             detail::given(bias), training, momentum, eps);
}
inline Tensor constant_pad_nd(const Tensor& x, IntArrayRef pad, const Scalar& value = 0) {
  return lamella::pad(x, to_dims(pad), "constant", value);
}
inline Tensor conv1d(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias = std::nullopt,
                     IntArrayRef stride = {1}, IntArrayRef padding = {0}, IntArrayRef dilation = {1},
                     std::int64_t groups = 1) {
  return lamella::conv<1>(x, weight, detail::given(bias), to_dims(stride), to_dims(padding), to_dims(dilation), groups);
}
inline Tensor conv2d(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias = std::nullopt,
                     IntArrayRef stride = {1}, IntArrayRef padding = {0}, IntArrayRef dilation = {1},
                     std::int64_t groups = 1) {
  return lamella::conv<2>(x, weight, detail::given(bias), to_dims(stride), to_dims(padding), to_dims(dilation), groups);
}
inline Tensor max_pool2d(const Tensor& x, IntArrayRef size, IntArrayRef stride = {}, IntArrayRef padding = {0}) {
  return lamella::max_pool<2>(x, to_dims(size), detail::strides(stride), to_dims(padding));
}
inline Tensor avg_pool2d(const Tensor& x, IntArrayRef size, IntArrayRef stride = {}, IntArrayRef padding = {0}) {
  return lamella::avg_pool<2>(x, to_dims(size), detail::strides(stride), to_dims(padding));
}
inline Tensor einsum(std::string_view equation, TensorList tensors) {
  return lamella::einsum(equation, native_list(tensors));
}

// Losses.
inline Tensor mse_loss(const Tensor& x, const Tensor& target, std::int64_t reduction = Reduction::Mean) {
  const auto both = lamella::broadcast_arrays({x, target});
  return lamella::mse_loss(both[0], both[1], Reduction::name(reduction));
}
inline Tensor l1_loss(const Tensor& x, const Tensor& target, std::int64_t reduction = Reduction::Mean) {
  const auto both = lamella::broadcast_arrays({x, target});
  return lamella::l1_loss(both[0], both[1], Reduction::name(reduction));
}
inline Tensor smooth_l1_loss(const Tensor& x, const Tensor& target, std::int64_t reduction = Reduction::Mean,
                             double beta = 1) {
  const auto both = lamella::broadcast_arrays({x, target});
  return lamella::smooth_l1_loss(both[0], both[1], Reduction::name(reduction), beta);
}
inline Tensor huber_loss(const Tensor& x, const Tensor& target, std::int64_t reduction = Reduction::Mean,
                         double delta = 1) {
  const auto both = lamella::broadcast_arrays({x, target});
  return lamella::huber_loss(both[0], both[1], Reduction::name(reduction), delta);
}
inline Tensor kl_div(const Tensor& x, const Tensor& target, std::int64_t reduction = Reduction::Mean,
                     bool log_target = false) {
  return lamella::kl_div(x, target, Reduction::name(reduction), log_target);
}
inline Tensor binary_cross_entropy(const Tensor& x, const Tensor& target,
                                   const std::optional<Tensor>& weight = std::nullopt,
                                   std::int64_t reduction = Reduction::Mean) {
  return lamella::binary_cross_entropy(x, target, detail::given(weight), Reduction::name(reduction));
}
inline Tensor binary_cross_entropy_with_logits(const Tensor& x, const Tensor& target,
                                               const std::optional<Tensor>& weight = std::nullopt,
                                               const std::optional<Tensor>& pos_weight = std::nullopt,
                                               std::int64_t reduction = Reduction::Mean) {
  return lamella::binary_cross_entropy_with_logits(x, target, detail::given(weight), Reduction::name(reduction),
                                                   detail::given(pos_weight));
}
inline Tensor nll_loss(const Tensor& x, const Tensor& target) { return lamella::nll_loss(x, target); }
inline Tensor cross_entropy_loss(const Tensor& x, const Tensor& target) { return lamella::cross_entropy(x, target); }

// Numbers.
inline void manual_seed(std::uint64_t seed) { lamella::seed(seed); }
inline Tensor linspace(const Scalar& start, const Scalar& end, std::int64_t steps, const TensorOptions& options = {}) {
  return detail::marked(lamella::linspace(start, end, steps, options.native_dtype(), options.native_device()), options);
}
inline Tensor randint(std::int64_t low, std::int64_t high, IntArrayRef shape, const TensorOptions& options = {}) {
  return detail::marked(lamella::randint(low, high, to_dims(shape), options.native_dtype(), options.native_device()),
                        options);
}
inline Tensor randint(std::int64_t high, IntArrayRef shape, const TensorOptions& options = {}) {
  return randint(0, high, shape, options);
}
inline Tensor randperm(std::int64_t n, const std::optional<Generator>& generator, const TensorOptions& options = {}) {
  return detail::marked(
      lamella::randperm(n, options.native_dtype(), options.native_device(), detail::native_generator(generator)),
      options);
}
inline Tensor randperm(std::int64_t n, const TensorOptions& options = {}) { return randperm(n, std::nullopt, options); }
inline Tensor rand(IntArrayRef shape, const std::optional<Generator>& generator, const TensorOptions& options = {}) {
  return detail::marked(lamella::rand(to_dims(shape), options.native_dtype(), options.native_device(),
                                      detail::native_generator(generator)),
                        options);
}
inline Tensor randn(IntArrayRef shape, const std::optional<Generator>& generator, const TensorOptions& options = {}) {
  return detail::marked(lamella::randn(to_dims(shape), options.native_dtype(), options.native_device(),
                                       detail::native_generator(generator)),
                        options);
}
inline Tensor multinomial(const Tensor& x, std::int64_t count, bool replacement = false,
                          const std::optional<Generator>& generator = std::nullopt) {
  return lamella::multinomial(x, count, replacement, detail::native_generator(generator));
}
inline Tensor bernoulli(const Tensor& x, const std::optional<Generator>& generator = std::nullopt) {
  if (!x.defined()) detail::refuse_undefined("bernoulli");
  return lamella::bernoulli(x, detail::native_generator(generator));
}
inline Tensor normal(double mean, double std, IntArrayRef shape, const std::optional<Generator>& generator,
                     const TensorOptions& options = {}) {
  return detail::marked(lamella::normal(to_dims(shape), mean, std, options.native_dtype(), options.native_device(),
                                        detail::native_generator(generator)),
                        options);
}
inline Tensor normal(double mean, double std, IntArrayRef shape, const TensorOptions& options = {}) {
  return normal(mean, std, shape, std::nullopt, options);
}
inline ScalarType get_default_dtype_as_scalartype() {
  return to_scalar_type(lamella::default_dtype(lamella::Scalar::Kind::Float));
}
inline ScalarType get_default_dtype() { return get_default_dtype_as_scalartype(); }
/// Returns the dtype that an operator of the two has.
inline ScalarType result_type(const Tensor& a, const Tensor& b) {
  const lamella::Operand first(a), second(b);
  const lamella::Operand* const both[] = {&first, &second};
  return to_scalar_type(lamella::promoted_dtype(both));
}
inline ScalarType promote_types(ScalarType a, ScalarType b) {
  return to_scalar_type(lamella::promote_types(to_dtype(a), to_dtype(b)));
}

}  // namespace at
