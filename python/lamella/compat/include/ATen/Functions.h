#pragma once

// PyTorch's functions and operators of tensors, and the longer methods of at::Tensor.

#include <algorithm>
#include <utility>

#include "ATen/core/Tensor.h"

namespace at {

inline Scalar Tensor::item() const {
  if (known("item").numel() != 1) {
    lamella::fail<lamella::ValueError>("[item] expected a tensor with one element, got ", lamella::describe(*this));
  }
  const lamella::Tensor x = lamella::to_device(Native::detach(), lamella::kCPU);
  return lamella::visit<lamella::AnyDType>(x.dtype(), "item", [&]<class T>() -> Scalar {
    const T value = *static_cast<const T*>(x.raw_data());
    if constexpr (std::is_arithmetic_v<T>) {
      return value;
    } else if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>) {
      return std::complex<double>(value);
    } else {
      return static_cast<float>(value);
    }
  });
}

inline Tensor Tensor::view(IntArrayRef shape) const {
  Tensor result = lamella::reshape(*this, to_dims(shape));
  if (!result.is_alias_of(*this) && numel() != 0 && impl()->storage) {
    lamella::fail<lamella::RuntimeError>("[view] ", lamella::describe(*this), " with strides ", strides(),
                                         " cannot be viewed as ", shape, ": use reshape()");
  }
  return result;
}

inline Tensor& Tensor::fill_(const Scalar& value) const {
  // A tensor of the tape stays on it, with a gradient of 0 for what it was computed from.
  if (!lamella::autograd::is_grad_enabled() || !requires_grad()) return lamella::fill_(*this, value), self();
  const lamella::Tensor nowhere = lamella::full({}, false, lamella::DType::Bool, Native::device());
  return copy_(lamella::where(nowhere, *this, value));
}
inline Tensor& Tensor::fill_(const Tensor& value) const {
  if (value.dim() != 0) {
    lamella::fail<lamella::RuntimeError>("[fill_] expected a value without axes, got ", lamella::describe(value));
  }
  return copy_(value);
}

inline Tensor Tensor::data() const {
  if (!known("data").impl()->storage || impl()->hidden || is_meta()) return detach();
  const auto release = [](void* kept) { delete static_cast<Native*>(kept); };
  return lamella::from_memory(raw_data(), shape(), Native::strides(), Native::dtype(), Native::device(), release,
                              new Native(Native::detach()));
}

inline Tensor Tensor::narrow(std::int64_t axis, std::int64_t start, std::int64_t length) const {
  const std::int64_t whole = known("narrow").size(axis);
  if (length < 0) lamella::fail<lamella::RuntimeError>("[narrow] expected a length of 0 or more, got ", length);
  if (start < -whole || start > whole) {
    lamella::fail<lamella::IndexError>("[narrow] start ", start, " is not in [", -whole, ", ", whole, "]");
  }
  if (start < 0) start += whole;
  if (start + length > whole) {
    lamella::fail<lamella::RuntimeError>("[narrow] start ", start, " and length ", length, " go beyond the size, ",
                                         whole);
  }
  return lamella::narrow(*this, axis, start, length);
}

inline lamella::Dims Tensor::channels_last(bool to_end) const {
  const std::int64_t axes = dim();
  if (axes != 4 && axes != 5) {
    lamella::fail<lamella::RuntimeError>("[channels_last] expected 4 or 5 axes, got ", lamella::describe(*this));
  }
  lamella::Dims order{0};
  if (!to_end) order.push_back(axes - 1);
  for (std::int64_t axis = to_end ? 2 : 1; axis < axes - (to_end ? 0 : 1); ++axis) order.push_back(axis);
  if (to_end) order.push_back(1);
  return order;
}

inline std::optional<lamella::Dims> Tensor::order_in_memory() const {
  const lamella::Dims& strides = known("order_in_memory").strides();
  lamella::Dims order;
  for (std::int64_t axis = 0; axis < dim(); ++axis) order.push_back(axis);
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) { return strides[a] > strides[b]; });
  std::int64_t expected = 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    const std::int64_t axis = order[i];
    if (shape()[axis] == 1) continue;
    if (strides[axis] != expected) return std::nullopt;
    expected *= shape()[axis];
  }
  return order;
}

inline std::tuple<Tensor, Tensor> Tensor::picked(const Tensor& places, std::int64_t axis, bool keepdim) const {
  if (dim() == 0) return {clone(), places};
  const Tensor values = gather(axis, places);
  return keepdim ? std::tuple(values, places) : std::tuple(values.squeeze(axis), places.squeeze(axis));
}

namespace detail {
/// Returns what make(shape) returns, with its elements in the order of x's memory.
template <class Make>
Tensor made_like(const Tensor& x, Make make) {
  if (x.is_contiguous()) return make(x.sizes());
  const auto order = x.order_in_memory();
  if (!order) return make(x.sizes());
  lamella::Dims shape, back(order->size(), 0), strides(order->size(), 0);
  for (const std::int64_t axis : *order) shape.push_back(x.sizes()[static_cast<std::size_t>(axis)]);
  for (std::size_t i = 0; i < back.size(); ++i) back[static_cast<std::size_t>((*order)[i])] = std::int64_t(i);
  const Tensor made = make(shape);
  for (std::size_t i = 0; i < back.size(); ++i) strides[i] = made.strides()[static_cast<std::size_t>(back[i])];
  return lamella::make_view(made, x.shape(), strides);
}
}  // namespace detail

inline Tensor Tensor::clone(std::optional<MemoryFormat> format) const {
  if (format && is_channels_last(*format)) {
    return Tensor(lamella::clone(permute(channels_last(true)))).permute(channels_last(false));
  }
  if (!defined() || Native::is_contiguous() || format == MemoryFormat::Contiguous) return lamella::clone(*this);
  const auto order = order_in_memory();
  if (!order) return lamella::clone(*this);
  lamella::Dims back(order->size(), 0);
  for (std::size_t i = 0; i < back.size(); ++i) back[static_cast<std::size_t>((*order)[i])] = std::int64_t(i);
  return Tensor(lamella::clone(permute(*order))).permute(back);
}

inline Tensor& Tensor::resize_(IntArrayRef shape, std::optional<MemoryFormat>) const {
  if (known("resize_").shape() == to_dims(shape)) return self();
  lamella::TensorImpl& own = *impl();
  lamella::Storage& memory = *own.storage;
  const bool known = (own.flags & ~lamella::TensorImpl::kInference) != 0 || own.listed || own.base || own.hidden ||
                     own.meta || own.data != memory.data || !memory.unique() || memory.deleter ||
                     memory.marks.load() != 0;
  if (known) {
    lamella::fail<lamella::RuntimeError>("[resize_] ", lamella::describe(*this), " cannot become ", shape,
                                         ", as a tape or others of its memory know it");
  }
  const lamella::Dims dims = to_dims(shape);
  const std::int64_t count = lamella::count_elements(dims);
  const std::int64_t kept = std::min(numel(), count);
  const std::size_t bytes = static_cast<std::size_t>(count) * lamella::item_size(Native::dtype());
  if (bytes > memory.bytes || !own.contiguous) {
    if (memory.embedded && memory.bytes > 0) {
      lamella::fail<lamella::RuntimeError>("[resize_] ", lamella::describe(*this), " cannot become ", shape,
                                           ": the memory of a small tensor is a part of it; make a new one, or begin "
                                           "with a tensor of no elements");
    }
    // Of so many elements that the memory is a block of its own, which can be exchanged.
    constexpr std::int64_t kOwnBlock = 2048;
    const Tensor made(lamella::empty({std::max(count, kOwnBlock)}, Native::dtype(), Native::device()));
    if (kept > 0) lamella::copy_(made.narrow(0, 0, kept), reshape({-1}).narrow(0, 0, kept));
    if (std::exchange(memory.embedded, false)) memory.data = nullptr;
    lamella::Storage& other = *made.impl()->storage;
    std::swap(memory.data, other.data);
    std::swap(memory.bytes, other.bytes);
    std::swap(memory.context, other.context);
    own.data = static_cast<char*>(memory.data);
  }
  memory.bump_version("resize_", {});
  own.elements = count;
  own.contiguous = true;
  own.shape = dims;
  lamella::set_contiguous_strides(own.shape, own.strides);
  return self();
}

inline Tensor Tensor::expand(IntArrayRef shape, bool) const {
  lamella::Dims dims = to_dims(shape);
  if (dims.size() < known("expand").ndim()) {
    lamella::fail<lamella::ValueError>("[expand] ", lamella::describe(*this), " has more axes than ", shape);
  }
  const std::size_t added = dims.size() - ndim();
  for (std::size_t i = added; i < dims.size(); ++i) {
    if (dims[i] == -1) dims[i] = this->shape()[i - added];
  }
  return lamella::broadcast_to(*this, dims);
}

inline std::vector<Tensor> Tensor::split(std::int64_t size, std::int64_t axis) const {
  if (size <= 0) lamella::fail<lamella::ValueError>("[split] a part has a size above 0, got ", size);
  const std::int64_t whole = this->size(axis);
  std::vector<Tensor> parts;
  for (std::int64_t start = 0; start < whole || parts.empty(); start += size) {
    parts.push_back(narrow(axis, start, std::min(size, whole - start)));
  }
  return parts;
}

inline Tensor Tensor::slice(std::int64_t axis, std::optional<std::int64_t> start, std::optional<std::int64_t> end,
                            std::int64_t step) const {
  if (step <= 0) lamella::fail<lamella::RuntimeError>("[slice] expected a step above 0, got ", step);
  const std::int64_t at = lamella::normalize_axis(axis, known("slice").ndim(), "slice");
  lamella::IndexItems items(static_cast<std::size_t>(at), lamella::IndexItem(lamella::Slice{}));
  items.emplace_back(lamella::Slice{start, end, step});
  return lamella::index(*this, items);
}

inline Tensor Tensor::to(const TensorOptions& options, bool, bool copy) const {
  lamella::Tensor x = known("to");
  if (options.has_device()) x = lamella::to_device(x, options.device().native());
  if (options.has_dtype() && to_dtype(options.dtype()) != x.dtype()) x = lamella::astype(x, to_dtype(options.dtype()));
  if (options.memory_format_opt() && is_channels_last(*options.memory_format_opt())) {
    x = Tensor(x).contiguous(*options.memory_format_opt());
  }
  return copy && x.same(*this) ? clone(options.memory_format_opt()) : Tensor(x);
}

// Operators, which match at::Tensor better than Lamella's own, which take whatever converts to a tensor or number.
#define AT_OPERATOR_(op, native)                                                       \
  inline Tensor operator op(const Tensor& a, const Tensor& b) { return native(a, b); } \
  inline Tensor operator op(const Tensor& a, const Scalar& b) { return native(a, b); } \
  inline Tensor operator op(const Scalar& a, const Tensor& b) { return native(a, b); }
AT_OPERATOR_(+, lamella::add)
AT_OPERATOR_(-, lamella::subtract)
AT_OPERATOR_(*, lamella::multiply)
AT_OPERATOR_(/, lamella::divide)
AT_OPERATOR_(==, lamella::equal)
AT_OPERATOR_(!=, lamella::not_equal)
AT_OPERATOR_(<, lamella::less)
AT_OPERATOR_(<=, lamella::less_equal)
AT_OPERATOR_(>, lamella::greater)
AT_OPERATOR_(>=, lamella::greater_equal)
AT_OPERATOR_(&, lamella::bitwise_and)
AT_OPERATOR_(|, lamella::bitwise_or)
AT_OPERATOR_(^, lamella::bitwise_xor)
#undef AT_OPERATOR_

inline Tensor operator%(const Tensor& a, const Tensor& b) { return a.remainder(b); }
inline Tensor operator%(const Tensor& a, const Scalar& b) { return a.remainder(b); }
inline Tensor operator%(const Scalar& a, const Tensor& b) { return lamella::remainder(a, b); }

// Functions for the methods.
#define AT_UNARY_FUNCTION_(name) \
  inline Tensor name(const Tensor& x) { return x.name(); }
AT_SAME_UNARY_METHODS(AT_UNARY_FUNCTION_)
#undef AT_UNARY_FUNCTION_
#define AT_BINARY_FUNCTION_(name, native)                                    \
  inline Tensor name(const Tensor& a, const Tensor& b) { return a.name(b); } \
  inline Tensor name(const Tensor& a, const Scalar& b) { return a.name(b); }
AT_BINARY_METHODS(AT_BINARY_FUNCTION_)
#undef AT_BINARY_FUNCTION_
#undef AT_SAME_UNARY_METHODS
#undef AT_BINARY_METHODS

inline Tensor div(const Tensor& a, const Tensor& b, std::optional<std::string_view> rounding_mode) {
  return a.div(b, rounding_mode);
}
inline Tensor div(const Tensor& a, const Scalar& b, std::optional<std::string_view> rounding_mode) {
  return a.div(b, rounding_mode);
}
inline Tensor pow(const Scalar& a, const Tensor& b) { return lamella::pow(a, b); }
inline Tensor add(const Tensor& a, const Tensor& b, const Scalar& alpha = 1) { return a.add(b, alpha); }
inline Tensor add(const Tensor& a, const Scalar& b, const Scalar& alpha = 1) { return a.add(b, alpha); }
inline Tensor sub(const Tensor& a, const Tensor& b, const Scalar& alpha = 1) { return a.sub(b, alpha); }
inline Tensor sub(const Tensor& a, const Scalar& b, const Scalar& alpha = 1) { return a.sub(b, alpha); }
inline Tensor neg(const Tensor& x) { return x.neg(); }
inline Tensor clamp(const Tensor& x, const std::optional<Scalar>& min,
                    const std::optional<Scalar>& max = std::nullopt) {
  return x.clamp(min, max);
}
inline Tensor clip(const Tensor& x, const std::optional<Scalar>& min, const std::optional<Scalar>& max = std::nullopt) {
  return x.clamp(min, max);
}
inline Tensor where(const Tensor& condition, const Scalar& a, const Scalar& b) {
  return lamella::where(condition, a, b);
}
/// Returns the places where the condition holds: a tensor for each axis.
inline std::vector<Tensor> where(const Tensor& condition) { return condition.nonzero().unbind(1); }
inline Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) {
  return lamella::where(condition, a, b);
}
inline Tensor where(const Tensor& condition, const Tensor& a, const Scalar& b) {
  return lamella::where(condition, a, b);
}
inline Tensor where(const Tensor& condition, const Scalar& a, const Tensor& b) {
  return lamella::where(condition, a, b);
}

inline Tensor elu(const Tensor& x, const Scalar& alpha = 1.0) { return lamella::elu(x, alpha); }
inline Tensor gelu(const Tensor& x, std::string_view approximate = "none") { return lamella::gelu(x, approximate); }
inline Tensor silu(const Tensor& x) { return lamella::silu(x); }
inline Tensor softplus(const Tensor& x, const Scalar& beta = 1, const Scalar& threshold = 20) {
  return lamella::softplus(x, beta, threshold);
}
inline Tensor leaky_relu(const Tensor& x, const Scalar& slope = 0.01) { return lamella::leaky_relu(x, slope); }
inline Tensor softmax(const Tensor& x, std::int64_t axis, std::optional<ScalarType> type = std::nullopt) {
  return x.softmax(axis, type);
}
inline Tensor log_softmax(const Tensor& x, std::int64_t axis, std::optional<ScalarType> type = std::nullopt) {
  return x.log_softmax(axis, type);
}

inline Tensor matmul(const Tensor& a, const Tensor& b) { return a.matmul(b); }
inline Tensor mm(const Tensor& a, const Tensor& b) { return a.mm(b); }
inline Tensor bmm(const Tensor& a, const Tensor& b) { return a.bmm(b); }
inline Tensor mv(const Tensor& a, const Tensor& b) { return a.mv(b); }
inline Tensor dot(const Tensor& a, const Tensor& b) { return a.dot(b); }
inline Tensor outer(const Tensor& a, const Tensor& b) { return a.outer(b); }
/// Returns beta * x + alpha * (a @ b).
inline Tensor addmm(const Tensor& x, const Tensor& a, const Tensor& b, const Scalar& beta = 1,
                    const Scalar& alpha = 1) {
  return x.addmm(a, b, beta, alpha);
}
inline Tensor linear(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias = std::nullopt) {
  return lamella::linear(x, weight, bias && bias->defined() ? std::optional<lamella::Tensor>(*bias) : std::nullopt);
}

inline Tensor sum(const Tensor& x, std::optional<ScalarType> type = std::nullopt) { return x.sum(type); }
inline Tensor sum(const Tensor& x, std::int64_t axis, bool keepdim = false,
                  std::optional<ScalarType> type = std::nullopt) {
  return x.sum(axis, keepdim, type);
}
inline Tensor sum(const Tensor& x, OptionalIntArrayRef axes, bool keepdim = false,
                  std::optional<ScalarType> type = std::nullopt) {
  return x.sum(axes, keepdim, type);
}
inline Tensor mean(const Tensor& x) { return x.mean(); }
inline Tensor mean(const Tensor& x, std::int64_t axis, bool keepdim = false) { return x.mean(axis, keepdim); }
inline Tensor mean(const Tensor& x, OptionalIntArrayRef axes, bool keepdim = false) { return x.mean(axes, keepdim); }
inline Tensor prod(const Tensor& x) { return x.prod(); }
inline Tensor prod(const Tensor& x, std::int64_t axis, bool keepdim = false) { return x.prod(axis, keepdim); }
inline Tensor norm(const Tensor& x, const Scalar& p = 2) { return x.norm(p); }
inline Tensor norm(const Tensor& x, const std::optional<Scalar>& p, IntArrayRef axes, bool keepdim = false) {
  return x.norm(p, axes, keepdim);
}
inline Tensor max(const Tensor& x) { return x.max(); }
inline Tensor min(const Tensor& x) { return x.min(); }
inline std::tuple<Tensor, Tensor> max(const Tensor& x, std::int64_t axis, bool keepdim = false) {
  return x.max(axis, keepdim);
}
inline std::tuple<Tensor, Tensor> min(const Tensor& x, std::int64_t axis, bool keepdim = false) {
  return x.min(axis, keepdim);
}
inline Tensor max(const Tensor& a, const Tensor& b) { return lamella::maximum(a, b); }
inline Tensor min(const Tensor& a, const Tensor& b) { return lamella::minimum(a, b); }
inline Tensor argmax(const Tensor& x, std::optional<std::int64_t> axis = std::nullopt, bool keepdim = false) {
  return x.argmax(axis, keepdim);
}
inline Tensor all(const Tensor& x) { return x.all(); }
inline Tensor any(const Tensor& x) { return x.any(); }
inline bool equal(const Tensor& a, const Tensor& b) { return a.equal(b); }
inline bool allclose(const Tensor& a, const Tensor& b, double rtol = 1e-5, double atol = 1e-8, bool equal_nan = false) {
  return a.allclose(b, rtol, atol, equal_nan);
}

inline Tensor reshape(const Tensor& x, IntArrayRef shape) { return x.reshape(shape); }
inline Tensor flatten(const Tensor& x, std::int64_t first = 0, std::int64_t last = -1) {
  return x.flatten(first, last);
}
inline Tensor squeeze(const Tensor& x) { return x.squeeze(); }
inline Tensor squeeze(const Tensor& x, std::int64_t axis) { return x.squeeze(axis); }
inline Tensor unsqueeze(const Tensor& x, std::int64_t axis) { return x.unsqueeze(axis); }
inline Tensor transpose(const Tensor& x, std::int64_t a, std::int64_t b) { return x.transpose(a, b); }
inline Tensor permute(const Tensor& x, IntArrayRef axes) { return x.permute(axes); }
inline std::vector<Tensor> chunk(const Tensor& x, std::int64_t chunks, std::int64_t axis = 0) {
  return x.chunk(chunks, axis);
}
inline std::vector<Tensor> split(const Tensor& x, std::int64_t size, std::int64_t axis = 0) {
  return x.split(size, axis);
}
inline std::vector<lamella::Tensor> native_list(TensorList tensors) {
  return std::vector<lamella::Tensor>(tensors.begin(), tensors.end());
}
/// Joins tensors along an axis. Undefined ones are left out and, among tensors of more axes, those of the shape [0],
/// which count for the dtype alone: lists are begun with them.
inline Tensor cat(TensorList tensors, std::int64_t axis = 0) {
  const auto is_start = [](const Tensor& x) { return x.dim() == 1 && x.numel() == 0; };
  const bool all_starts = std::all_of(tensors.begin(), tensors.end(), is_start);
  std::vector<lamella::Tensor> joined;
  std::optional<lamella::DType> type;
  for (const Tensor& x : tensors) {
    if (!x.defined()) continue;
    const lamella::DType own = to_dtype(x.scalar_type());
    type = type ? lamella::promote_types(*type, own) : own;
    if (all_starts || !is_start(x)) joined.push_back(x);
  }
  const lamella::Tensor made = lamella::concat(joined, axis);
  return type && made.dtype() != *type ? lamella::astype(made, *type) : made;
}
inline Tensor concat(TensorList tensors, std::int64_t axis = 0) { return cat(tensors, axis); }
inline Tensor stack(TensorList tensors, std::int64_t axis = 0) { return lamella::stack(native_list(tensors), axis); }
inline Tensor clone(const Tensor& x, std::optional<MemoryFormat> format = std::nullopt) { return x.clone(format); }

// New tensors.
namespace detail {
inline Tensor marked(Tensor x, const TensorOptions& options) {
  if (options.requires_grad()) x.set_requires_grad(true);
  return x;
}
/// Returns make(shape, options) for the shape of x, in the order of its memory unless the options say otherwise.
template <class Make>
Tensor like(const Tensor& x, const TensorOptions& options, Make make) {
  const TensorOptions own = TensorOptions(options).requires_grad(false);
  const auto format = options.memory_format_opt();
  if (format && *format != MemoryFormat::Preserve) return marked(make(x.sizes(), own), options);
  return marked(made_like(x, [&](IntArrayRef shape) { return make(shape, own); }), options);
}
/// Returns the options, with those of x for whatever is not given.
inline TensorOptions filled(const Tensor& x, const TensorOptions& options) {
  TensorOptions all = options;
  if (!all.has_dtype()) all = all.dtype(x.scalar_type());
  if (!all.has_device()) all = all.device(x.device());
  return all;
}
}  // namespace detail

#define AT_FACTORY_(name)                                                                                           \
  inline Tensor name(IntArrayRef shape, const TensorOptions& options = {}) {                                        \
    return detail::marked(lamella::name(to_dims(shape), options.native_dtype(), options.native_device()), options); \
  }                                                                                                                 \
  inline Tensor name##_like(const Tensor& x, const TensorOptions& options = {}) {                                   \
    return detail::like(x, detail::filled(x, options),                                                              \
                        [](IntArrayRef s, const TensorOptions& o) { return name(s, o); });                          \
  }
AT_FACTORY_(zeros)
AT_FACTORY_(ones)
AT_FACTORY_(rand)
AT_FACTORY_(randn)
#undef AT_FACTORY_
inline Tensor empty(IntArrayRef shape, const TensorOptions& options = {}) {
  const Tensor x = lamella::empty(to_dims(shape), to_dtype(options.dtype()), options.device().native());
  const auto format = options.memory_format_opt();
  return detail::marked(format ? x.contiguous(*format) : x, options);
}
inline Tensor empty(IntArrayRef shape, const TensorOptions& options, std::optional<MemoryFormat> format) {
  return empty(shape, options.memory_format(format));
}
inline Tensor empty_like(const Tensor& x, const TensorOptions& options = {}) {
  return detail::like(x, detail::filled(x, options),
                      [](IntArrayRef shape, const TensorOptions& all) { return empty(shape, all); });
}
inline Tensor full(IntArrayRef shape, const Scalar& value, const TensorOptions& options = {}) {
  return detail::marked(lamella::full(to_dims(shape), value, options.native_dtype(), options.native_device()), options);
}
/// Returns a new tensor of those strides, which leave no elements out.
inline Tensor empty_strided(IntArrayRef shape, IntArrayRef strides, const TensorOptions& options = {}) {
  std::int64_t last = 0;
  bool none = false;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    none = none || shape[i] == 0;
    last += (shape[i] - 1) * strides.at(i);
  }
  const Tensor memory = empty({none ? 0 : last + 1}, TensorOptions(options).requires_grad(false));
  return detail::marked(lamella::make_view(memory, shape, strides), options);
}
inline Tensor full_like(const Tensor& x, const Scalar& value, const TensorOptions& options = {}) {
  return detail::like(x, detail::filled(x, options),
                      [&](IntArrayRef shape, const TensorOptions& all) { return full(shape, value, all); });
}
inline Tensor empty_symint(SymIntArrayRef shape, const TensorOptions& options = {}) {
  return empty(asIntArrayRefUnchecked(shape), options);
}
inline Tensor zeros_symint(SymIntArrayRef shape, const TensorOptions& options = {}) {
  return zeros(asIntArrayRefUnchecked(shape), options);
}
inline Tensor ones_symint(SymIntArrayRef shape, const TensorOptions& options = {}) {
  return ones(asIntArrayRefUnchecked(shape), options);
}
inline Tensor full_symint(SymIntArrayRef shape, const Scalar& value, const TensorOptions& options = {}) {
  return full(asIntArrayRefUnchecked(shape), value, options);
}
inline Tensor arange(const Scalar& end, const TensorOptions& options = {}) {
  return detail::marked(lamella::arange(end, std::nullopt, 1, options.native_dtype(), options.native_device()),
                        options);
}
inline Tensor arange(const Scalar& start, const Scalar& end, const TensorOptions& options = {}) {
  return detail::marked(lamella::arange(start, end, 1, options.native_dtype(), options.native_device()), options);
}
inline Tensor arange(const Scalar& start, const Scalar& end, const Scalar& step, const TensorOptions& options = {}) {
  return detail::marked(lamella::arange(start, end, step, options.native_dtype(), options.native_device()), options);
}
inline Tensor eye(std::int64_t n, std::int64_t m, const TensorOptions& options = {}) {
  return detail::marked(lamella::eye(n, m, 0, options.native_dtype(), options.native_device()), options);
}
inline Tensor eye(std::int64_t n, const TensorOptions& options = {}) {
  return detail::marked(lamella::eye(n, std::nullopt, 0, options.native_dtype(), options.native_device()), options);
}
inline Tensor scalar_tensor(const Scalar& value, const TensorOptions& options = {}) {
  return full({}, value, options.has_dtype() || value.isComplex() ? options : options.dtype(kFloat));
}

namespace detail {
/// Values of a new tensor: a number, a list, or a braced list of such. Integers of int and int64 become int64, and
/// float and double the default dtype; others keep theirs.
class TensorData {
 public:
  TensorData() : value_(at::empty({0})) {}
  template <class T>
    requires(std::is_arithmetic_v<T>)
  TensorData(T value) : value_(full({}, value, CppTypeToScalarType<T>::value)), type_(type_for<T>()) {}
  TensorData(std::complex<double> value) : value_(full({}, value, kComplexDouble)), type_(kComplexFloat) {}
  template <class T>
  TensorData(ArrayRef<T> values) {
    const Tensor own = at::empty({static_cast<std::int64_t>(values.size())}, CppTypeToScalarType<T>::value);
    std::copy(values.begin(), values.end(), own.data_ptr<T>());
    value_ = own;
    type_ = type_for<T>();
  }
  template <class T>
  TensorData(const std::vector<T>& values) : TensorData(ArrayRef<T>(values)) {}
  TensorData(const std::vector<bool>& values)
      : value_(at::empty({static_cast<std::int64_t>(values.size())}, kBool)), type_(kBool) {
    std::copy(values.begin(), values.end(), value_.data_ptr<bool>());
  }
  TensorData(std::initializer_list<TensorData> rows) {
    std::vector<lamella::Tensor> parts;
    for (const TensorData& row : rows) {
      if (row.type_ != rows.begin()->type_) {
        lamella::fail<lamella::RuntimeError>("[tensor] expected values of one dtype, got ", rows.begin()->type_,
                                             " and ", row.type_);
      }
      type_ = row.type_;
      parts.push_back(row.value_);
    }
    value_ = parts.empty() ? at::empty({0}) : Tensor(lamella::stack(parts));
  }
  /// Returns the tensor with the given options, which have a natural dtype if they name none.
  Tensor with(const TensorOptions& options) const {
    return value_.to(options.has_dtype() ? options : options.dtype(type_));
  }

 private:
  template <class T>
  static ScalarType type_for() {
    if constexpr (std::is_same_v<T, bool>) return kBool;
    const ScalarType own = CppTypeToScalarType<T>::value;
    if (own == kInt || own == kLong) return kLong;
    return own == kDouble || own == kFloat ? kFloat : own;
  }

  Tensor value_;
  ScalarType type_ = kFloat;
};
}  // namespace detail

/// Makes a tensor of a number, a list or nested braces.
inline Tensor tensor(const detail::TensorData& data, const TensorOptions& options = {}) {
  const TensorOptions wanted = TensorOptions(options).requires_grad(false);
  return detail::marked(data.with(wanted), options);
}

/// Makes a tensor on memory of the caller, with strides in elements.
inline Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides, const TensorOptions& options = {}) {
  return detail::marked(lamella::from_memory(data, sizes, strides, to_dtype(options.dtype()), options.device().native(),
                                             nullptr, nullptr),
                        options);
}
inline Tensor from_blob(void* data, IntArrayRef sizes, const TensorOptions& options = {}) {
  const lamella::Dims strides = lamella::contiguous_strides(sizes);
  return from_blob(data, sizes, strides, options);
}
/// Makes a tensor on memory of the caller; calls `deleter` with `data` when the memory is no longer needed.
template <class Deleter>
  requires std::is_invocable_v<Deleter&, void*>
Tensor from_blob(void* data, IntArrayRef sizes, Deleter deleter, const TensorOptions& options = {}) {
  struct Held {
    Deleter deleter;
    void* data;
  };
  const lamella::Dims strides = lamella::contiguous_strides(sizes);
  const auto release = [](void* context) {
    const std::unique_ptr<Held> held(static_cast<Held*>(context));
    held->deleter(held->data);
  };
  return detail::marked(lamella::from_memory(data, sizes, strides, to_dtype(options.dtype()), options.device().native(),
                                             release, new Held{std::move(deleter), data}),
                        options);
}

/// Prints "float32[2, 3] on cpu" and, for a small tensor, its elements.
inline std::ostream& operator<<(std::ostream& out, const Tensor& x) {
  if (!x.defined()) return out << "[ Tensor (undefined) ]";
  const Tensor flat = x.detach().cpu().reshape({-1});
  constexpr std::int64_t kShown = 1000;
  if (!x.is_meta()) {
    for (std::int64_t i = 0; i < std::min(flat.numel(), kShown); ++i) {
      const Scalar value = flat[i].item();
      if (value.isIntegral(true)) {
        out << value.toLong() << " ";
      } else if (value.isComplex()) {
        out << value.toComplexDouble() << " ";
      } else {
        out << value.toDouble() << " ";
      }
    }
    if (flat.numel() > kShown) out << "... ";
  }
  return out << "[ " << x.toString() << "{" << lamella::to_string(x.shape()) << "} ]";
}

}  // namespace at
