#pragma once

// PyTorch's functions of tensors that make layers, losses, orders and random numbers.

#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "ATen/Functions.h"
#include "engine/runtime/generator.h"

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
inline Tensor roll(const Tensor& x, std::int64_t shift, std::int64_t axis) { return x.roll(shift, axis); }
inline Tensor repeat_interleave(const Tensor& x, const Tensor& times, std::optional<std::int64_t> axis = std::nullopt) {
  return x.repeat_interleave(times, axis);
}
inline Tensor repeat_interleave(const Tensor& x, std::int64_t times, std::optional<std::int64_t> axis = std::nullopt) {
  return x.repeat_interleave(times, axis);
}
inline Tensor select(const Tensor& x, std::int64_t axis, std::int64_t i) { return x.select(axis, i); }
inline Tensor gather(const Tensor& x, std::int64_t axis, const Tensor& places) { return x.gather(axis, places); }
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
inline Tensor one_hot(const Tensor& x, std::int64_t classes = -1) { return lamella::one_hot(x, classes); }
inline Tensor layer_norm(const Tensor& x, IntArrayRef shape, const std::optional<Tensor>& weight = std::nullopt,
                         const std::optional<Tensor>& bias = std::nullopt, double eps = 1e-5) {
  return lamella::layer_norm(x, to_dims(shape), detail::given(weight), detail::given(bias), eps);
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
inline Tensor binary_cross_entropy(const Tensor& x, const Tensor& target,
                                   const std::optional<Tensor>& weight = std::nullopt,
                                   std::int64_t reduction = Reduction::Mean) {
  return lamella::binary_cross_entropy(x, target, detail::given(weight), Reduction::name(reduction));
}
inline Tensor binary_cross_entropy_with_logits(const Tensor& x, const Tensor& target,
                                               const std::optional<Tensor>& weight = std::nullopt) {
  return lamella::binary_cross_entropy_with_logits(x, target, detail::given(weight));
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
inline Tensor randperm(std::int64_t n, const TensorOptions& options = {}) {
  return detail::marked(lamella::randperm(n, options.native_dtype(), options.native_device()), options);
}
inline Tensor bernoulli(const Tensor& x) { return lamella::bernoulli(x); }
inline Tensor normal(double mean, double std, IntArrayRef shape, const TensorOptions& options = {}) {
  return detail::marked(lamella::normal(to_dims(shape), mean, std, options.native_dtype(), options.native_device()),
                        options);
}
inline Tensor normal(double mean, double std, IntArrayRef shape, std::nullopt_t /*generator*/,
                     const TensorOptions& options = {}) {
  return normal(mean, std, shape, options);
}
inline ScalarType promote_types(ScalarType a, ScalarType b) {
  return to_scalar_type(lamella::promote_types(to_dtype(a), to_dtype(b)));
}

}  // namespace at
