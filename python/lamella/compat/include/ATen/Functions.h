#pragma once

// PyTorch's functions and operators of tensors, and the longer methods of at::Tensor.

#include <algorithm>
#include <utility>

#include "ATen/core/Tensor.h"

namespace at {

inline Scalar Tensor::item() const {
  if (numel() != 1) {
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

inline const Tensor& Tensor::resize_(IntArrayRef shape, std::optional<MemoryFormat>) const {
  if (sizes() == shape) return *this;
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
  return *this;
}

inline Tensor Tensor::expand(IntArrayRef shape, bool) const {
  lamella::Dims dims = to_dims(shape);
  if (dims.size() < ndim()) {
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
  const std::int64_t at = lamella::normalize_axis(axis, ndim(), "slice");
  lamella::IndexItems items(static_cast<std::size_t>(at), lamella::IndexItem(lamella::Slice{}));
  items.emplace_back(lamella::Slice{start, end, step});
  return lamella::index(*this, items);
}

inline Tensor Tensor::to(const TensorOptions& options, bool, bool copy) const {
  lamella::Tensor x = *this;
  if (options.has_device()) x = lamella::to_device(x, options.device().native());
  if (options.has_dtype() && to_dtype(options.dtype()) != x.dtype()) x = lamella::astype(x, to_dtype(options.dtype()));
  return copy && x.same(*this) ? Tensor(lamella::clone(x)) : Tensor(x);
}

// Operators, which match at::Tensor better than Lamella's own, which take whatever converts to a tensor or number.
#define AT_OPERATOR_(op, native)                                                                \
  inline Tensor operator op(const Tensor& a, const Tensor& b) { return lamella::native(a, b); } \
  inline Tensor operator op(const Tensor& a, const Scalar& b) { return lamella::native(a, b); } \
  inline Tensor operator op(const Scalar& a, const Tensor& b) { return lamella::native(a, b); }
AT_OPERATOR_(+, add)
AT_OPERATOR_(-, subtract)
AT_OPERATOR_(*, multiply)
AT_OPERATOR_(/, divide)
AT_OPERATOR_(%, remainder)
AT_OPERATOR_(==, equal)
AT_OPERATOR_(!=, not_equal)
AT_OPERATOR_(<, less)
AT_OPERATOR_(<=, less_equal)
AT_OPERATOR_(>, greater)
AT_OPERATOR_(>=, greater_equal)
AT_OPERATOR_(&, bitwise_and)
AT_OPERATOR_(|, bitwise_or)
AT_OPERATOR_(^, bitwise_xor)
#undef AT_OPERATOR_

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

inline Tensor add(const Tensor& a, const Tensor& b, const Scalar& alpha = 1) { return a.add(b, alpha); }
inline Tensor add(const Tensor& a, const Scalar& b, const Scalar& alpha = 1) { return a.add(b, alpha); }
inline Tensor sub(const Tensor& a, const Tensor& b, const Scalar& alpha = 1) { return a.sub(b, alpha); }
inline Tensor sub(const Tensor& a, const Scalar& b, const Scalar& alpha = 1) { return a.sub(b, alpha); }
inline Tensor neg(const Tensor& x) { return x.neg(); }
inline Tensor clamp(const Tensor& x, const std::optional<Scalar>& min,
                    const std::optional<Scalar>& max = std::nullopt) {
  return x.clamp(min, max);
}
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
inline Tensor gelu(const Tensor& x) { return lamella::gelu(x); }
inline Tensor silu(const Tensor& x) { return lamella::silu(x); }
inline Tensor softplus(const Tensor& x) { return lamella::softplus(x); }
inline Tensor leaky_relu(const Tensor& x, const Scalar& slope = 0.01) { return lamella::leaky_relu(x, slope); }
inline Tensor softmax(const Tensor& x, std::int64_t axis) { return x.softmax(axis); }
inline Tensor log_softmax(const Tensor& x, std::int64_t axis) { return x.log_softmax(axis); }

inline Tensor matmul(const Tensor& a, const Tensor& b) { return a.matmul(b); }
// Functions that write into a given tensor of the result's shape.
inline Tensor& add_out(Tensor& out, const Tensor& a, const Tensor& b, const Scalar& alpha = 1) {
  return out.copy_(a.add(b, alpha)), out;
}
inline Tensor& sub_out(Tensor& out, const Tensor& a, const Tensor& b, const Scalar& alpha = 1) {
  return out.copy_(a.sub(b, alpha)), out;
}
inline Tensor& mul_out(Tensor& out, const Tensor& a, const Tensor& b) { return out.copy_(a.mul(b)), out; }
inline Tensor& div_out(Tensor& out, const Tensor& a, const Tensor& b) { return out.copy_(a.div(b)), out; }
inline Tensor& mm_out(Tensor& out, const Tensor& a, const Tensor& b) { return out.copy_(a.mm(b)), out; }
inline Tensor mm(const Tensor& a, const Tensor& b) { return a.mm(b); }
inline Tensor bmm(const Tensor& a, const Tensor& b) { return a.bmm(b); }
inline Tensor mv(const Tensor& a, const Tensor& b) { return a.mv(b); }
inline Tensor dot(const Tensor& a, const Tensor& b) { return a.dot(b); }
inline Tensor outer(const Tensor& a, const Tensor& b) { return a.outer(b); }
/// Returns beta * x + alpha * (a @ b).
inline Tensor addmm(const Tensor& x, const Tensor& a, const Tensor& b, const Scalar& beta = 1,
                    const Scalar& alpha = 1) {
  const Tensor product = a.mm(b);
  return (beta.toDouble() == 1 ? x : x * beta) + (alpha.toDouble() == 1 ? product : product * alpha);
}
inline Tensor linear(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias = std::nullopt) {
  return lamella::linear(x, weight, bias && bias->defined() ? std::optional<lamella::Tensor>(*bias) : std::nullopt);
}

inline Tensor sum(const Tensor& x, std::optional<ScalarType> type = std::nullopt) { return x.sum(type); }
inline Tensor sum(const Tensor& x, std::int64_t axis, bool keepdim = false) { return x.sum(axis, keepdim); }
inline Tensor sum(const Tensor& x, OptionalIntArrayRef axes, bool keepdim = false,
                  std::optional<ScalarType> type = std::nullopt) {
  return x.sum(axes, keepdim, type);
}
inline Tensor mean(const Tensor& x) { return x.mean(); }
inline Tensor mean(const Tensor& x, std::int64_t axis, bool keepdim = false) { return x.mean(axis, keepdim); }
inline Tensor mean(const Tensor& x, OptionalIntArrayRef axes, bool keepdim = false) { return x.mean(axes, keepdim); }
inline Tensor prod(const Tensor& x) { return x.prod(); }
inline Tensor norm(const Tensor& x) { return x.norm(); }
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
inline Tensor cat(TensorList tensors, std::int64_t axis = 0) { return lamella::concat(native_list(tensors), axis); }
inline Tensor concat(TensorList tensors, std::int64_t axis = 0) { return cat(tensors, axis); }
inline Tensor stack(TensorList tensors, std::int64_t axis = 0) { return lamella::stack(native_list(tensors), axis); }
inline Tensor clone(const Tensor& x) { return x.clone(); }

// New tensors.
namespace detail {
inline Tensor marked(Tensor x, const TensorOptions& options) {
  if (options.requires_grad()) x.set_requires_grad(true);
  return x;
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
    return name(x.sizes(), detail::filled(x, options));                                                             \
  }
AT_FACTORY_(zeros)
AT_FACTORY_(ones)
AT_FACTORY_(rand)
AT_FACTORY_(randn)
#undef AT_FACTORY_
inline Tensor empty(IntArrayRef shape, const TensorOptions& options = {}) {
  return detail::marked(lamella::empty(to_dims(shape), to_dtype(options.dtype()), options.device().native()), options);
}
inline Tensor empty_like(const Tensor& x, const TensorOptions& options = {}) {
  return empty(x.sizes(), detail::filled(x, options));
}
inline Tensor full(IntArrayRef shape, const Scalar& value, const TensorOptions& options = {}) {
  return detail::marked(lamella::full(to_dims(shape), value, options.native_dtype(), options.native_device()), options);
}
inline Tensor full_like(const Tensor& x, const Scalar& value, const TensorOptions& options = {}) {
  return full(x.sizes(), value, detail::filled(x, options));
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
inline Tensor eye(std::int64_t n, const TensorOptions& options = {}) {
  return detail::marked(lamella::eye(n, std::nullopt, 0, options.native_dtype(), options.native_device()), options);
}
inline Tensor scalar_tensor(const Scalar& value, const TensorOptions& options = {}) { return full({}, value, options); }

/// Makes a tensor of the values of a braced list, in their own dtype unless another is given.
template <class T>
Tensor tensor(ArrayRef<T> values, const TensorOptions& options = {}) {
  Tensor x = empty({static_cast<std::int64_t>(values.size())}, TensorOptions(CppTypeToScalarType<T>::value));
  std::copy(values.begin(), values.end(), x.template data_ptr<T>());
  return detail::marked(x.to(options), options);
}
// Integers become int64 and other numbers the default dtype, as in PyTorch.
inline Tensor tensor(std::initializer_list<double> values, const TensorOptions& options = {}) {
  return tensor(ArrayRef<double>(values), options.has_dtype() ? options : options.dtype(kFloat));
}
inline Tensor tensor(std::initializer_list<float> values, const TensorOptions& options = {}) {
  return tensor(ArrayRef<float>(values), options);
}
inline Tensor tensor(std::initializer_list<int> values, const TensorOptions& options = {}) {
  return tensor(ArrayRef<int>(values), options.has_dtype() ? options : options.dtype(kLong));
}
template <class T>
Tensor tensor(const std::vector<T>& values, const TensorOptions& options = {}) {
  return tensor(ArrayRef<T>(values), options);
}
template <class T>
  requires std::is_arithmetic_v<T>
Tensor tensor(T value, const TensorOptions& options = {}) {
  const ScalarType natural = std::is_same_v<T, bool> ? kBool : std::is_integral_v<T> ? kLong : kFloat;
  return full({}, value, options.has_dtype() ? options : options.dtype(natural));
}

/// Makes a tensor on memory of the caller, with strides in elements.
inline Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides, const TensorOptions& options = {}) {
  return lamella::from_memory(data, sizes, strides, to_dtype(options.dtype()), options.device().native(), nullptr,
                              nullptr);
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
  return lamella::from_memory(
      data, sizes, strides, to_dtype(options.dtype()), options.device().native(),
      [](void* context) {
        const std::unique_ptr<Held> held(static_cast<Held*>(context));
        held->deleter(held->data);
      },
      new Held{std::move(deleter), data});
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
      } else {
        out << value.toDouble() << " ";
      }
    }
    if (flat.numel() > kShown) out << "... ";
  }
  return out << "[ " << x.toString() << "{" << lamella::to_string(x.shape()) << "} ]";
}

}  // namespace at
