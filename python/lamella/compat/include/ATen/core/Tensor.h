#pragma once

// at::Tensor: lamella::Tensor with PyTorch's methods. It holds nothing of its own, so each converts to the other at the
// cost of a handle's copy.

#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "ATen/core/Division.h"
#include "ATen/core/Generator.h"
#include "ATen/core/MoreMethods.h"
#include "ATen/core/TensorAccessor.h"
#include "c10/core/Device.h"
#include "c10/core/Scalar.h"
#include "c10/core/ScalarType.h"
#include "c10/core/SymInt.h"
#include "c10/core/TensorOptions.h"
#include "c10/macros/Macros.h"
#include "c10/util/ArrayRef.h"
#include "c10/util/Exception.h"
#include "c10/util/Logging.h"
#include "engine/autograd/backward/backward.h"
#include "ops/index/index.h"
#include "ops/registration/all_ops.h"

namespace at {

using namespace c10;  // NOLINT(google-build-using-namespace): as in PyTorch, at:: has all names of c10::

class Tensor;
namespace indexing {
class TensorIndex;
}
using TensorList = ArrayRef<Tensor>;
using OptionalTensor = std::optional<Tensor>;

/// Result of the old `x.type()`.
class DeprecatedTypeProperties {
 public:
  DeprecatedTypeProperties(ScalarType type, Device device) : type_(type), device_(device) {}
  ScalarType scalarType() const { return type_; }
  bool is_cuda() const { return device_.is_cuda(); }
  operator ScalarType() const { return type_; }

 private:
  ScalarType type_;
  Device device_;
};

// clang-format does not converge on these lists.
// clang-format off
// Methods of one tensor that have the same name in Lamella.
#define AT_SAME_UNARY_METHODS(_)                                                                             \
  _(abs) _(acos) _(acosh) _(asin) _(asinh) _(atan) _(atanh) _(ceil) _(cos) _(cosh) _(digamma) _(erf) _(erfc) \
  _(erfinv) _(exp) _(exp2) _(expm1) _(floor) _(frac) _(isfinite) _(isinf) _(isnan) _(lgamma) _(log)          \
  _(log10) _(log1p) _(log2) _(logical_not) _(reciprocal) _(relu) _(round) _(rsqrt) _(sigmoid) _(sign)        \
  _(signbit) _(sin) _(sinc) _(sinh) _(sqrt) _(square) _(tan) _(tanh) _(trunc) _(conj)
// Methods of a tensor and another or a number: PyTorch's name and the function behind it.
#define AT_BINARY_METHODS(_)                                                                                   \
  _(mul, lamella::multiply) _(multiply, lamella::multiply) _(div, lamella::divide) _(divide, lamella::divide)  \
  _(pow, lamella::pow) _(eq, lamella::equal) _(ne, lamella::not_equal) _(lt, lamella::less)                    \
  _(le, lamella::less_equal) _(gt, lamella::greater) _(ge, lamella::greater_equal)                             \
  _(fmod, detail::checked_fmod) _(remainder, detail::checked_remainder)                                        \
  _(floor_divide, detail::checked_floor_divide) _(maximum, lamella::maximum) _(minimum, lamella::minimum)      \
  _(atan2, lamella::atan2) _(logical_and, lamella::logical_and) _(logical_or, lamella::logical_or)             \
  _(logical_xor, lamella::logical_xor) _(bitwise_and, lamella::bitwise_and) _(bitwise_or, lamella::bitwise_or) \
  _(bitwise_xor, lamella::bitwise_xor)
// clang-format on

namespace detail {
template <class Make>
Tensor made_like(const Tensor& x, Make make);
}  // namespace detail

class Tensor : public lamella::Tensor, public detail::MoreMethods<Tensor> {
  using Native = lamella::Tensor;

 public:
  Tensor() = default;
  Tensor(const Native& x) noexcept : Native(x) {}
  Tensor(Native&& x) noexcept : Native(std::move(x)) {}
  Tensor(const Tensor&) = default;
  Tensor(Tensor&&) noexcept = default;
  Tensor& operator=(const Tensor&) & = default;
  Tensor& operator=(Tensor&&) & noexcept = default;
  // What is assigned to a temporary, such as `x[i]`, is written into the elements that it shows.
  Tensor& operator=(const Tensor& source) && { return copy_(source); }
  Tensor& operator=(Tensor&& source) && { return copy_(source); }
  Tensor& operator=(const Scalar& value) && { return fill_(value); }

  // Properties. An undefined tensor has those that PyTorch answers, as one of the shape [0]; others are RuntimeErrors.
  std::int64_t dim() const noexcept { return defined() ? static_cast<std::int64_t>(ndim()) : 1; }
  std::int64_t ndimension() const noexcept { return dim(); }
  IntArrayRef sizes() const noexcept {
    static constexpr std::int64_t kUndefined[] = {0};
    return defined() ? IntArrayRef(shape().data(), shape().size()) : IntArrayRef(kUndefined);
  }
  IntArrayRef strides() const {
    const lamella::Dims& all = known("strides").strides();
    return IntArrayRef(all.data(), all.size());
  }
  std::int64_t size(std::int64_t axis) const {
    return defined() ? Native::size(axis) : sizes()[lamella::normalize_axis(axis, 1, "size")];
  }
  std::int64_t numel() const noexcept { return defined() ? Native::numel() : 0; }
  std::size_t nbytes() const { return known("nbytes").nbytes(); }
  SymIntArrayRef sym_sizes() const noexcept { return fromIntArrayRefSlow(sizes()); }
  SymIntArrayRef sym_strides() const { return fromIntArrayRefSlow(strides()); }
  SymInt sym_size(std::int64_t axis) const { return size(axis); }
  SymInt sym_stride(std::int64_t axis) const { return stride(axis); }
  SymInt sym_numel() const noexcept { return numel(); }
  SymInt sym_storage_offset() const noexcept { return storage_offset(); }
  std::int64_t stride(std::int64_t axis) const {
    return strides()[lamella::normalize_axis(axis, known("stride").ndim(), "stride")];
  }
  std::int64_t storage_offset() const noexcept {
    const auto* storage = defined() ? impl()->storage : nullptr;
    return storage ? (impl()->data - static_cast<const char*>(storage->data)) / itemsize() : 0;
  }
  ScalarType scalar_type() const noexcept {
    return defined() ? to_scalar_type(Native::dtype()) : ScalarType::Undefined;
  }
  ScalarType dtype() const noexcept { return scalar_type(); }
  DeprecatedTypeProperties type() const { return {scalar_type(), device()}; }
  Device device() const { return Device(known("device").device()); }
  DeviceIndex get_device() const { return device().index(); }
  Layout layout() const noexcept { return Layout::Strided; }
  TensorOptions options() const { return TensorOptions(scalar_type()).device(device()); }
  std::int64_t element_size() const {
    return static_cast<std::int64_t>(lamella::item_size(known("element_size").dtype()));
  }
  std::int64_t itemsize() const { return element_size(); }
  bool is_contiguous(MemoryFormat format = MemoryFormat::Contiguous) const {
    if (!defined()) return true;
    return is_channels_last(format) ? permute(channels_last(true)).is_contiguous() : Native::is_contiguous();
  }
  bool is_non_overlapping_and_dense() const { return order_in_memory().has_value(); }
  /// Returns the format that a result in the order of this tensor's memory has.
  MemoryFormat suggest_memory_format() const {
    if (is_contiguous()) return MemoryFormat::Contiguous;
    for (const MemoryFormat format : {MemoryFormat::ChannelsLast, MemoryFormat::ChannelsLast3d}) {
      if (dim() == axes_of(format) && is_contiguous(format)) return format;
    }
    return MemoryFormat::Contiguous;
  }
  bool is_cpu() const noexcept { return defined() && Native::device().is_cpu(); }
  bool is_cuda() const noexcept { return defined() && Native::device().is_cuda(); }
  bool is_meta() const noexcept { return defined() && Native::device().is_meta(); }
  bool is_privateuseone() const noexcept {
    return defined() && Native::device().type == lamella::DeviceType::PrivateUse1;
  }
  bool is_sparse() const noexcept { return false; }
  bool is_quantized() const noexcept { return false; }
  bool is_floating_point() const noexcept { return defined() && lamella::is_floating(Native::dtype()); }
  bool is_complex() const noexcept { return defined() && lamella::is_complex(Native::dtype()); }
  bool is_same(const Tensor& other) const noexcept { return same(other); }
  bool is_alias_of(const Tensor& other) const noexcept {
    return defined() && other.defined() && impl()->storage && impl()->storage == other.impl()->storage;
  }
  std::size_t use_count() const noexcept { return defined() ? impl()->use_count() : 0; }
  void reset() { *this = Tensor(); }
  std::string toString() const { return str_of(device()) + toStringOf(); }

  // Elements.
  void* data_ptr() const { return known("data_ptr").raw_data(); }
  void* mutable_data_ptr() const { return data_ptr(); }
  const void* const_data_ptr() const { return data_ptr(); }
  /// Returns the elements; TypeError if the tensor's dtype is another.
  template <class T>
  T* data_ptr() const {
    return known("data_ptr").data<T>();
  }
  template <class T>
  T* mutable_data_ptr() const {
    return known("data_ptr").data<T>();
  }
  template <class T>
  const std::remove_const_t<T>* const_data_ptr() const {
    return known("data_ptr").data<const std::remove_const_t<T>>();
  }
  /// Gives access to elements by index; ValueError if the tensor does not have N axes.
  template <class T, std::size_t N>
  TensorAccessor<T, N> accessor() const {
    check_axes(N);
    return {data_ptr<T>(), sizes().data(), strides().data()};
  }
  template <class T, std::size_t N, template <class> class PtrTraits = DefaultPtrTraits>
  PackedTensorAccessor32<T, N, PtrTraits> packed_accessor32() const {
    check_axes(N);
    return {data_ptr<T>(), sizes().data(), strides().data()};
  }
  template <class T, std::size_t N, template <class> class PtrTraits = DefaultPtrTraits>
  PackedTensorAccessor64<T, N, PtrTraits> packed_accessor64() const {
    check_axes(N);
    return {data_ptr<T>(), sizes().data(), strides().data()};
  }
  /// Returns the value of a tensor with one element; ValueError for another.
  Scalar item() const;
  template <class T>
  T item() const {
    return item().template to<T>();
  }

  // Autograd.
  const Tensor& set_requires_grad(bool value) const {
    known("set_requires_grad").set_requires_grad(value);
    return *this;
  }
  const Tensor& requires_grad_(bool value = true) const { return set_requires_grad(value); }
  bool requires_grad() const { return defined() && Native::requires_grad(); }
  bool is_leaf() const { return known("is_leaf").is_leaf(); }
  auto grad_fn() const { return known("grad_fn").grad_fn(); }
  Tensor grad() const { return known("grad").grad(); }
  Tensor detach() const { return known("detach").detach(); }
  /// Returns another tensor on the same memory, whose writes no tape notices.
  Tensor data() const;
  Tensor variable_data() const { return data(); }
  Tensor tensor_data() const { return data(); }
  std::int64_t _version() const { return known("_version").version(); }
  /// `retain_graph` is `create_graph` where it is not given.
  void backward(const Tensor& gradient = {}, std::optional<bool> retain_graph = std::nullopt,
                bool create_graph = false) const {
    lamella::autograd::backward(*this, gradient, retain_graph.value_or(create_graph), create_graph);
  }

  // Arithmetic.
#define AT_UNARY_METHOD_(name) \
  Tensor name() const { return lamella::name(*this); }
  AT_SAME_UNARY_METHODS(AT_UNARY_METHOD_)
#undef AT_UNARY_METHOD_
#define AT_BINARY_METHOD_(name, native)                                   \
  Tensor name(const Tensor& other) const { return native(*this, other); } \
  Tensor name(const Scalar& other) const { return native(*this, other); }
  AT_BINARY_METHODS(AT_BINARY_METHOD_)
#undef AT_BINARY_METHOD_
  /// Divides and rounds: "trunc" towards 0, "floor" downwards; nothing leaves the quotient as it is.
  Tensor div(const Tensor& other, std::optional<std::string_view> rounding_mode) const {
    return detail::rounded_quotient(*this, other, rounding_mode);
  }
  Tensor div(const Scalar& other, std::optional<std::string_view> rounding_mode) const {
    return detail::rounded_quotient(*this, other, rounding_mode);
  }
  Tensor add(const Tensor& other, const Scalar& alpha = 1) const { return lamella::add(*this, scaled(other, alpha)); }
  Tensor add(const Scalar& other, const Scalar& alpha = 1) const { return lamella::add(*this, scaled(other, alpha)); }
  Tensor sub(const Tensor& other, const Scalar& alpha = 1) const {
    return lamella::subtract(*this, scaled(other, alpha));
  }
  Tensor sub(const Scalar& other, const Scalar& alpha = 1) const {
    return lamella::subtract(*this, scaled(other, alpha));
  }
  Tensor neg() const { return lamella::negative(*this); }
  Tensor operator-() const { return neg(); }
  Tensor bitwise_not() const { return lamella::bitwise_invert(*this); }
  Tensor operator~() const { return bitwise_not(); }
  Tensor clamp(const std::optional<Scalar>& min, const std::optional<Scalar>& max = std::nullopt) const {
    return lamella::clip(*this, operand(min), operand(max));
  }
  Tensor clip(const std::optional<Scalar>& min, const std::optional<Scalar>& max = std::nullopt) const {
    return clamp(min, max);
  }
  Tensor clamp_min(const Scalar& min) const { return clamp(min); }
  Tensor clamp_max(const Scalar& max) const { return clamp(std::nullopt, max); }
  Tensor addcmul(const Tensor& a, const Tensor& b, const Scalar& value = 1) const {
    return lamella::addcmul(*this, a, b, value);
  }
  Tensor softmax(std::int64_t axis, std::optional<ScalarType> type = std::nullopt) const {
    return lamella::softmax(*this, axis, native(type));
  }
  Tensor log_softmax(std::int64_t axis, std::optional<ScalarType> type = std::nullopt) const {
    return lamella::log_softmax(*this, axis, native(type));
  }

  // Arithmetic in place. A const handle may be written through, too: the handle is const, not the tensor.
  Tensor& add_(const Tensor& other, const Scalar& alpha = 1) const {
    return lamella::add_(*this, scaled(other, alpha)), self();
  }
  Tensor& add_(const Scalar& other, const Scalar& alpha = 1) const {
    return lamella::add_(*this, scaled(other, alpha)), self();
  }
  Tensor& sub_(const Tensor& other, const Scalar& alpha = 1) const {
    return lamella::sub_(*this, scaled(other, alpha)), self();
  }
  Tensor& sub_(const Scalar& other, const Scalar& alpha = 1) const {
    return lamella::sub_(*this, scaled(other, alpha)), self();
  }
  Tensor& mul_(const Tensor& other) const { return lamella::mul_(*this, other), self(); }
  Tensor& mul_(const Scalar& other) const { return lamella::mul_(*this, other), self(); }
  Tensor& div_(const Tensor& other) const { return lamella::div_(*this, other), self(); }
  Tensor& div_(const Scalar& other) const { return lamella::div_(*this, other), self(); }
  using detail::MoreMethods<Tensor>::div_;
  Tensor& operator+=(const Tensor& other) const { return add_(other); }
  Tensor& operator+=(const Scalar& other) const { return add_(other); }
  Tensor& operator-=(const Tensor& other) const { return sub_(other); }
  Tensor& operator-=(const Scalar& other) const { return sub_(other); }
  Tensor& operator*=(const Tensor& other) const { return mul_(other); }
  Tensor& operator*=(const Scalar& other) const { return mul_(other); }
  Tensor& operator/=(const Tensor& other) const { return div_(other); }
  Tensor& operator/=(const Scalar& other) const { return div_(other); }
  Tensor& zero_() const { return fill_(0); }
  Tensor& fill_(const Scalar& value) const;
  Tensor& fill_(const Tensor& value) const;
  Tensor& copy_(const Tensor& source, bool /*non_blocking*/ = false) const {
    return lamella::copy_(*this, source), self();
  }
  Tensor& masked_fill_(const Tensor& mask, const Scalar& value) const {
    return lamella::masked_fill_(*this, mask, value), self();
  }
  Tensor& masked_fill_(const Tensor& mask, const Tensor& value) const {
    return lamella::masked_fill_(*this, mask, value), self();
  }

  /// Gives the tensor another shape: its first elements, and others without values behind them. RuntimeError for one
  /// that a tape or other tensors of its memory know, and for a small one, up to 1024 bytes, that is to grow.
  Tensor& resize_(IntArrayRef shape, std::optional<MemoryFormat> = std::nullopt) const;
  Tensor& resize_as_(const Tensor& other) const { return resize_(other.sizes()); }

  // Products.
  Tensor matmul(const Tensor& other) const { return lamella::matmul(*this, other); }
  Tensor mm(const Tensor& other) const { return product("mm", 2, other, 2); }
  Tensor bmm(const Tensor& other) const { return product("bmm", 3, other, 3); }
  Tensor mv(const Tensor& other) const { return product("mv", 2, other, 1); }
  Tensor dot(const Tensor& other) const { return lamella::dot(*this, other); }
  Tensor outer(const Tensor& other) const { return lamella::outer(*this, other); }

  // Reductions. No axes at all means every axis, and sums of unsigned integers are int64.
  Tensor sum(std::optional<ScalarType> type = std::nullopt) const {
    return lamella::sum(*this, std::nullopt, false, total_type(type));
  }
  Tensor sum(std::int64_t axis, bool keepdim = false, std::optional<ScalarType> type = std::nullopt) const {
    return lamella::sum(*this, lamella::Dims{axis}, keepdim, total_type(type));
  }
  Tensor sum(OptionalIntArrayRef axes, bool keepdim = false, std::optional<ScalarType> type = std::nullopt) const {
    return lamella::sum(*this, over(axes), keepdim, total_type(type));
  }
  Tensor mean(std::optional<ScalarType> type = std::nullopt) const { return lamella::mean(cast(type)); }
  Tensor mean(std::int64_t axis, bool keepdim = false, std::optional<ScalarType> type = std::nullopt) const {
    return lamella::mean(cast(type), axis, keepdim);
  }
  Tensor mean(OptionalIntArrayRef axes, bool keepdim = false, std::optional<ScalarType> type = std::nullopt) const {
    return lamella::mean(cast(type), over(axes), keepdim);
  }
  Tensor prod(std::optional<ScalarType> type = std::nullopt) const { return lamella::prod(cast(total_type(type))); }
  Tensor prod(std::int64_t axis, bool keepdim = false, std::optional<ScalarType> type = std::nullopt) const {
    return lamella::prod(cast(total_type(type)), axis, keepdim);
  }
  Tensor var(std::int64_t axis, bool unbiased, bool keepdim = false) const {
    return lamella::var(*this, lamella::Dims{axis}, unbiased ? 1 : 0, keepdim);
  }
  Tensor std(std::int64_t axis, bool unbiased, bool keepdim = false) const {
    return lamella::standard_deviation(*this, lamella::Dims{axis}, unbiased ? 1 : 0, keepdim);
  }
  Tensor var(OptionalIntArrayRef axes, bool unbiased, bool keepdim = false) const {
    return lamella::var(*this, over(axes), unbiased ? 1 : 0, keepdim);
  }
  Tensor std(OptionalIntArrayRef axes, bool unbiased, bool keepdim = false) const {
    return lamella::standard_deviation(*this, over(axes), unbiased ? 1 : 0, keepdim);
  }
  Tensor var(bool unbiased = true) const { return lamella::var(*this, std::nullopt, unbiased ? 1 : 0); }
  Tensor std(bool unbiased = true) const { return lamella::standard_deviation(*this, std::nullopt, unbiased ? 1 : 0); }
  Tensor norm(const Scalar& p = 2) const {
    return lamella::linalg::vector_norm(*this, std::nullopt, false, p.toDouble());
  }
  Tensor norm(const std::optional<Scalar>& p, IntArrayRef axes, bool keepdim = false) const {
    return lamella::linalg::vector_norm(*this, over(axes), keepdim, p ? p->toDouble() : 2.0);
  }
  Tensor max(const Tensor& other) const { return lamella::maximum(*this, other); }
  Tensor min(const Tensor& other) const { return lamella::minimum(*this, other); }
  Tensor max() const { return lamella::max(*this); }
  Tensor min() const { return lamella::min(*this); }
  // The gradient goes to the element whose index is returned, not to its equals.
  std::tuple<Tensor, Tensor> max(std::int64_t axis, bool keepdim = false) const {
    return picked(argmax(axis, true), axis, keepdim);
  }
  std::tuple<Tensor, Tensor> min(std::int64_t axis, bool keepdim = false) const {
    return picked(argmin(axis, true), axis, keepdim);
  }
  Tensor argmax(std::optional<std::int64_t> axis = std::nullopt, bool keepdim = false) const {
    return lamella::argmax(*this, axis, keepdim);
  }
  Tensor argmin(std::optional<std::int64_t> axis = std::nullopt, bool keepdim = false) const {
    return lamella::argmin(*this, axis, keepdim);
  }
  Tensor all() const { return truth(lamella::all(*this)); }
  Tensor any() const { return truth(lamella::any(*this)); }
  Tensor all(std::int64_t axis, bool keepdim = false) const {
    return truth(lamella::all(*this, lamella::Dims{axis}, keepdim));
  }
  Tensor any(std::int64_t axis, bool keepdim = false) const {
    return truth(lamella::any(*this, lamella::Dims{axis}, keepdim));
  }
  Tensor cumsum(std::int64_t axis, std::optional<ScalarType> type = std::nullopt) const {
    return lamella::cumsum(cast(total_type(type)), axis);
  }
  bool equal(const Tensor& other) const {
    return known("equal").shape() == other.known("equal").shape() &&
           Tensor(lamella::equal(*this, other)).all().item<bool>();
  }
  bool allclose(const Tensor& other, double rtol = 1e-5, double atol = 1e-8, bool equal_nan = false) const {
    return Tensor(lamella::allclose(*this, other, rtol, atol, equal_nan)).item<bool>();
  }

  // Shapes.
  Tensor view(IntArrayRef shape) const;
  Tensor reshape(IntArrayRef shape) const { return lamella::reshape(*this, to_dims(shape)); }
  Tensor view_as(const Tensor& other) const { return view(other.sizes()); }
  Tensor reshape_as(const Tensor& other) const { return reshape(other.sizes()); }
  Tensor flatten(std::int64_t first = 0, std::int64_t last = -1) const { return lamella::flatten(*this, first, last); }
  Tensor squeeze() const { return lamella::squeeze(*this); }
  Tensor squeeze(std::int64_t axis) const {
    if (known("squeeze").ndim() == 0 && (axis == 0 || axis == -1)) return *this;
    return size(axis) == 1 ? Tensor(lamella::squeeze(*this, axis)) : *this;
  }
  Tensor unsqueeze(std::int64_t axis) const { return lamella::expand_dims(*this, axis); }
  /// Expands axes of size 1; -1 keeps an axis as it is.
  Tensor expand(IntArrayRef shape, bool /*implicit*/ = false) const;
  Tensor expand_as(const Tensor& other) const { return expand(other.sizes()); }
  Tensor permute(IntArrayRef axes) const { return lamella::permute_dims(*this, to_dims(axes)); }
  Tensor transpose(std::int64_t a, std::int64_t b) const { return lamella::swapaxes(*this, a, b); }
  /// Returns the transpose of a matrix; a vector as it is.
  Tensor t() const {
    if (known("t").ndim() > 2) {
      lamella::fail<lamella::RuntimeError>("[t] expected at most 2 axes, got ", lamella::describe(*this));
    }
    return ndim() < 2 ? *this : transpose(0, 1);
  }
  Tensor mT() const { return lamella::matrix_transpose(*this); }
  Tensor repeat(IntArrayRef times) const {
    if (times.size() < known("repeat").ndim()) {
      lamella::fail<lamella::RuntimeError>("[repeat] ", times, " has fewer numbers than ", lamella::describe(*this),
                                           " has axes");
    }
    return lamella::tile(*this, to_dims(times));
  }
  Tensor flip(IntArrayRef axes) const { return lamella::flip(*this, to_dims(axes)); }
  Tensor tril(std::int64_t k = 0) const { return lamella::tril(*this, k); }
  Tensor triu(std::int64_t k = 0) const { return lamella::triu(*this, k); }
  std::vector<Tensor> chunk(std::int64_t chunks, std::int64_t axis = 0) const {
    return list(lamella::chunk(*this, chunks, axis));
  }
  std::vector<Tensor> split(std::int64_t size, std::int64_t axis = 0) const;
  std::vector<Tensor> unbind(std::int64_t axis = 0) const { return list(lamella::unstack(*this, axis)); }

  // Parts.
  Tensor operator[](std::int64_t i) const { return select(0, i); }
  Tensor operator[](const Tensor& i) const { return lamella::index(*this, {lamella::IndexItem(i)}); }
  using detail::MoreMethods<Tensor>::index;
  using detail::MoreMethods<Tensor>::index_put_;
  // Items that may be integers, slices, new axes, an ellipsis or tensors; see ATen/TensorIndexing.h.
  Tensor index(ArrayRef<indexing::TensorIndex> items) const;
  Tensor index(std::initializer_list<indexing::TensorIndex> items) const;
  Tensor& index_put_(ArrayRef<indexing::TensorIndex> items, const Tensor& values, bool accumulate = false) const;
  Tensor& index_put_(std::initializer_list<indexing::TensorIndex> items, const Tensor& values,
                     bool accumulate = false) const;
  Tensor& index_put_(ArrayRef<indexing::TensorIndex> items, const Scalar& value) const;
  Tensor& index_put_(std::initializer_list<indexing::TensorIndex> items, const Scalar& value) const;
  Tensor select(std::int64_t axis, std::int64_t i) const { return lamella::select(*this, axis, i); }
  /// Returns `length` elements along an axis; a start below 0 counts from the end.
  Tensor narrow(std::int64_t axis, std::int64_t start, std::int64_t length) const;
  Tensor slice(std::int64_t axis = 0, std::optional<std::int64_t> start = std::nullopt,
               std::optional<std::int64_t> end = std::nullopt, std::int64_t step = 1) const;
  Tensor index_select(std::int64_t axis, const Tensor& index) const {
    return lamella::index_select(*this, axis, index);
  }
  Tensor gather(std::int64_t axis, const Tensor& index, bool /*sparse_grad*/ = false) const {
    return lamella::gather(*this, axis, index);
  }
  Tensor scatter_add(std::int64_t axis, const Tensor& index, const Tensor& source) const {
    return lamella::scatter_add(*this, axis, index, source);
  }
  Tensor masked_fill(const Tensor& mask, const Scalar& value) const { return lamella::masked_fill(*this, mask, value); }
  Tensor masked_select(const Tensor& mask) const { return lamella::masked_select(*this, mask); }
  Tensor where(const Tensor& condition, const Tensor& other) const { return lamella::where(condition, *this, other); }

  // Copies, dtypes and devices.
  Tensor contiguous(MemoryFormat format = MemoryFormat::Contiguous) const {
    if (is_contiguous(format)) return *this;
    if (!is_channels_last(format)) return lamella::contiguous(*this);
    return permute(channels_last(true)).contiguous().permute(channels_last(false));
  }
  /// Returns a copy whose elements are in the order of this tensor's memory, unless a format is given.
  Tensor clone(std::optional<MemoryFormat> format = std::nullopt) const;
  /// Returns the tensor with the given options; the tensor itself if it has them already.
  Tensor to(const TensorOptions& options, bool non_blocking = false, bool copy = false) const;
  Tensor to(ScalarType type, bool non_blocking = false, bool copy = false) const {
    return to(TensorOptions(type), non_blocking, copy);
  }
  Tensor to(Device device, ScalarType type, bool non_blocking = false, bool copy = false) const {
    return to(TensorOptions(type).device(device), non_blocking, copy);
  }
  Tensor to(Device device, bool non_blocking = false, bool copy = false) const {
    return to(TensorOptions(device), non_blocking, copy);
  }
  Tensor to(DeviceType device, bool non_blocking = false, bool copy = false) const {
    return to(Device(device), non_blocking, copy);
  }
  Tensor to(const Tensor& other) const { return to(other.options()); }
  Tensor type_as(const Tensor& other) const { return to(other.options().dtype()); }
  Tensor toType(ScalarType type) const { return to(type); }
  Tensor cpu() const { return to(Device(DeviceType::CPU)); }
  Tensor cuda() const { return to(Device(DeviceType::CUDA)); }

 private:
  /// Returns this tensor as the engine's; RuntimeError if it is undefined.
  const Native& known(const char* method) const {
    if (!defined()) [[unlikely]]
      detail::refuse_undefined(method);
    return *this;
  }
  /// Returns a product of tensors of so many axes; RuntimeError for others.
  Tensor product(const char* method, std::size_t axes, const Tensor& other, std::size_t other_axes) const {
    if (known(method).ndim() != axes || other.known(method).ndim() != other_axes) {
      lamella::fail<lamella::RuntimeError>("[", method, "] expected ", axes, " and ", other_axes, " axes, got ",
                                           lamella::describe(*this), " and ", lamella::describe(other));
    }
    return matmul(other);
  }
  Tensor& self() const noexcept { return const_cast<Tensor&>(*this); }
  static bool is_one(const Scalar& value) { return !value.isComplex() && value.toDouble() == 1; }
  static lamella::Tensor scaled(const Tensor& x, const Scalar& alpha) {
    return is_one(alpha) ? Native(x) : lamella::multiply(x, alpha);
  }
  static Scalar scaled(const Scalar& x, const Scalar& alpha) {
    if (x.isIntegral(true) && alpha.isIntegral(true)) return x.toLong() * alpha.toLong();
    return is_one(alpha) ? x : Scalar(x.toDouble() * alpha.toDouble());
  }
  static constexpr bool is_channels_last(MemoryFormat format) {
    return format == MemoryFormat::ChannelsLast || format == MemoryFormat::ChannelsLast3d;
  }
  static constexpr std::int64_t axes_of(MemoryFormat format) { return format == MemoryFormat::ChannelsLast ? 4 : 5; }
  /// Returns the order of axes that brings the channels, axis 1, to the end, or from the end back.
  lamella::Dims channels_last(bool to_end) const;
  /// Returns the axes from the largest stride to the smallest; nothing if elements overlap or have gaps between them.
  std::optional<lamella::Dims> order_in_memory() const;
  template <class Make>
  friend Tensor detail::made_like(const Tensor& x, Make make);
  std::tuple<Tensor, Tensor> picked(const Tensor& places, std::int64_t axis, bool keepdim) const;
  /// Returns the dtype of a sum or product, where it is not this tensor's natural one.
  std::optional<lamella::DType> total_type(std::optional<ScalarType> type) const {
    if (type) return to_dtype(*type);
    const ScalarType own = scalar_type();
    const bool is_unsigned = own == kByte || own == kUInt16 || own == kUInt32 || own == kUInt64;
    return is_unsigned ? std::optional(lamella::DType::Int64) : std::nullopt;
  }
  Native cast(std::optional<lamella::DType> type) const {
    return type ? lamella::astype(*this, *type, false) : Native(*this);
  }
  Native cast(std::optional<ScalarType> type) const { return cast(native(type)); }
  /// Returns a result of any() or all(), which PyTorch gives the dtype of bytes for bytes.
  Tensor truth(const Native& x) const { return scalar_type() == kByte ? lamella::astype(x, lamella::DType::UInt8) : x; }
  static std::optional<lamella::Dims> over(const OptionalIntArrayRef& axes) {
    return axes && !axes->empty() ? to_dims(axes) : std::nullopt;
  }
  static std::optional<lamella::Operand> operand(const std::optional<Scalar>& value) {
    return value ? std::optional<lamella::Operand>(*value) : std::nullopt;
  }
  static std::optional<lamella::DType> native(std::optional<ScalarType> type) {
    return type ? std::optional(to_dtype(*type)) : std::nullopt;
  }
  static std::vector<Tensor> list(const std::vector<Native>& tensors) {
    return std::vector<Tensor>(tensors.begin(), tensors.end());
  }
  static std::string str_of(Device device) { return device.is_cpu() ? "CPU" : device.str(); }
  std::string toStringOf() const { return std::string(c10::toString(scalar_type())) + "Type"; }
  void check_axes(std::size_t n) const {
    if (n != known("accessor").ndim())
      lamella::fail<lamella::ValueError>("[accessor] expected ", n, " axes, got ", lamella::describe(*this));
  }
};

static_assert(sizeof(Tensor) == sizeof(lamella::Tensor));

}  // namespace at
