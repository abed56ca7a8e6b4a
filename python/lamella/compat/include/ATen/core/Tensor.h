#pragma once

// at::Tensor: lamella::Tensor with PyTorch's methods. It holds nothing of its own, so each converts to the other at the
// cost of a handle's copy.

#include <tuple>
#include <utility>
#include <vector>

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
#include "engine/autograd/backward/backward.h"
#include "ops/index/index.h"
#include "ops/registration/all_ops.h"

namespace at {

using namespace c10;  // NOLINT(google-build-using-namespace): as in PyTorch, at:: has all names of c10::

class Tensor;
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
// Methods of a tensor and another or a number: PyTorch's name and Lamella's.
#define AT_BINARY_METHODS(_)                                                                       \
  _(mul, multiply) _(multiply, multiply) _(div, divide) _(divide, divide) _(pow, pow) _(eq, equal) \
  _(ne, not_equal) _(lt, less) _(le, less_equal) _(gt, greater) _(ge, greater_equal)               \
  _(fmod, fmod) _(remainder, remainder) _(floor_divide, floor_divide) _(maximum, maximum)          \
  _(minimum, minimum) _(atan2, atan2) _(logical_and, logical_and) _(logical_or, logical_or)        \
  _(logical_xor, logical_xor) _(bitwise_and, bitwise_and) _(bitwise_or, bitwise_or)                \
  _(bitwise_xor, bitwise_xor)
// clang-format on

class Tensor : public lamella::Tensor, public detail::MoreMethods<Tensor> {
  using Native = lamella::Tensor;

 public:
  Tensor() = default;
  Tensor(const Native& x) noexcept : Native(x) {}
  Tensor(Native&& x) noexcept : Native(std::move(x)) {}

  // Properties.
  std::int64_t dim() const noexcept { return static_cast<std::int64_t>(ndim()); }
  std::int64_t ndimension() const noexcept { return dim(); }
  IntArrayRef sizes() const noexcept { return IntArrayRef(shape().data(), shape().size()); }
  IntArrayRef strides() const noexcept { return IntArrayRef(Native::strides().data(), Native::strides().size()); }
  SymIntArrayRef sym_sizes() const noexcept { return fromIntArrayRefSlow(sizes()); }
  SymIntArrayRef sym_strides() const noexcept { return fromIntArrayRefSlow(strides()); }
  SymInt sym_size(std::int64_t axis) const { return size(axis); }
  SymInt sym_stride(std::int64_t axis) const { return stride(axis); }
  SymInt sym_numel() const noexcept { return numel(); }
  SymInt sym_storage_offset() const noexcept { return storage_offset(); }
  std::int64_t stride(std::int64_t axis) const {
    return Native::strides()[lamella::normalize_axis(axis, ndim(), "stride")];
  }
  std::int64_t storage_offset() const noexcept {
    const auto* storage = impl()->storage;
    return storage ? (impl()->data - static_cast<const char*>(storage->data)) / itemsize() : 0;
  }
  ScalarType scalar_type() const noexcept { return to_scalar_type(Native::dtype()); }
  ScalarType dtype() const noexcept { return scalar_type(); }
  DeprecatedTypeProperties type() const { return {scalar_type(), device()}; }
  Device device() const noexcept { return Device(Native::device()); }
  DeviceIndex get_device() const noexcept { return device().index(); }
  Layout layout() const noexcept { return Layout::Strided; }
  TensorOptions options() const { return TensorOptions(scalar_type()).device(device()); }
  std::int64_t element_size() const noexcept { return static_cast<std::int64_t>(lamella::item_size(Native::dtype())); }
  std::int64_t itemsize() const noexcept { return element_size(); }
  bool is_contiguous(MemoryFormat = MemoryFormat::Contiguous) const noexcept { return Native::is_contiguous(); }
  bool is_cpu() const noexcept { return Native::device().is_cpu(); }
  bool is_cuda() const noexcept { return Native::device().is_cuda(); }
  bool is_meta() const noexcept { return Native::device().is_meta(); }
  bool is_privateuseone() const noexcept { return Native::device().type == lamella::DeviceType::PrivateUse1; }
  bool is_sparse() const noexcept { return false; }
  bool is_quantized() const noexcept { return false; }
  bool is_floating_point() const noexcept { return lamella::is_floating(Native::dtype()); }
  bool is_complex() const noexcept { return lamella::is_complex(Native::dtype()); }
  bool is_same(const Tensor& other) const noexcept { return same(other); }
  bool is_alias_of(const Tensor& other) const noexcept {
    return impl()->storage && impl()->storage == other.impl()->storage;
  }
  std::size_t use_count() const noexcept { return defined() ? impl()->use_count() : 0; }
  void reset() { *this = Tensor(); }
  std::string toString() const { return str_of(device()) + toStringOf(); }

  // Elements.
  void* data_ptr() const { return raw_data(); }
  void* mutable_data_ptr() const { return raw_data(); }
  const void* const_data_ptr() const { return raw_data(); }
  /// Returns the elements; TypeError if the tensor's dtype is another.
  template <class T>
  T* data_ptr() const {
    return Native::data<T>();
  }
  template <class T>
  T* mutable_data_ptr() const {
    return Native::data<T>();
  }
  template <class T>
  const std::remove_const_t<T>* const_data_ptr() const {
    return Native::data<const std::remove_const_t<T>>();
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
    Native::set_requires_grad(value);
    return *this;
  }
  const Tensor& requires_grad_(bool value = true) const { return set_requires_grad(value); }
  Tensor grad() const { return Native::grad(); }
  Tensor detach() const { return Native::detach(); }
  Tensor data() const { return Native::detach(); }
  Tensor variable_data() const { return Native::detach(); }
  Tensor tensor_data() const { return Native::detach(); }
  std::int64_t _version() const noexcept { return version(); }
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
#define AT_BINARY_METHOD_(name, native)                                            \
  Tensor name(const Tensor& other) const { return lamella::native(*this, other); } \
  Tensor name(const Scalar& other) const { return lamella::native(*this, other); }
  AT_BINARY_METHODS(AT_BINARY_METHOD_)
#undef AT_BINARY_METHOD_
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
  Tensor softmax(std::int64_t axis) const { return lamella::softmax(*this, axis); }
  Tensor log_softmax(std::int64_t axis) const { return lamella::log_softmax(*this, axis); }

  // Arithmetic in place.
  Tensor& add_(const Tensor& other, const Scalar& alpha = 1) {
    return kept(lamella::add_(*this, scaled(other, alpha)));
  }
  Tensor& add_(const Scalar& other, const Scalar& alpha = 1) {
    return kept(lamella::add_(*this, scaled(other, alpha)));
  }
  Tensor& sub_(const Tensor& other, const Scalar& alpha = 1) {
    return kept(lamella::sub_(*this, scaled(other, alpha)));
  }
  Tensor& sub_(const Scalar& other, const Scalar& alpha = 1) {
    return kept(lamella::sub_(*this, scaled(other, alpha)));
  }
  Tensor& mul_(const Tensor& other) { return kept(lamella::mul_(*this, other)); }
  Tensor& mul_(const Scalar& other) { return kept(lamella::mul_(*this, other)); }
  Tensor& div_(const Tensor& other) { return kept(lamella::div_(*this, other)); }
  Tensor& div_(const Scalar& other) { return kept(lamella::div_(*this, other)); }
  Tensor& operator+=(const Tensor& other) { return add_(other); }
  Tensor& operator+=(const Scalar& other) { return add_(other); }
  Tensor& operator-=(const Tensor& other) { return sub_(other); }
  Tensor& operator-=(const Scalar& other) { return sub_(other); }
  Tensor& operator*=(const Tensor& other) { return mul_(other); }
  Tensor& operator*=(const Scalar& other) { return mul_(other); }
  Tensor& operator/=(const Tensor& other) { return div_(other); }
  Tensor& operator/=(const Scalar& other) { return div_(other); }
  // A const handle may be written through, too: the handle is const, not the tensor.
  const Tensor& zero_() const { return lamella::zero_(*this), *this; }
  const Tensor& fill_(const Scalar& value) const { return lamella::fill_(*this, value), *this; }
  const Tensor& copy_(const Tensor& source, bool /*non_blocking*/ = false) const {
    return lamella::copy_(*this, source), *this;
  }
  const Tensor& masked_fill_(const Tensor& mask, const Scalar& value) const {
    return lamella::masked_fill_(*this, mask, value), *this;
  }

  /// Gives the tensor another shape: its first elements, and others without values behind them. RuntimeError for one
  /// that a tape or other tensors of its memory know, and for a small one, up to 1024 bytes, that is to grow.
  const Tensor& resize_(IntArrayRef shape, std::optional<MemoryFormat> = std::nullopt) const;
  const Tensor& resize_as_(const Tensor& other) const { return resize_(other.sizes()); }

  // Products.
  Tensor matmul(const Tensor& other) const { return lamella::matmul(*this, other); }
  Tensor mm(const Tensor& other) const { return matmul(other); }
  Tensor bmm(const Tensor& other) const { return matmul(other); }
  Tensor mv(const Tensor& other) const { return matmul(other); }
  Tensor dot(const Tensor& other) const { return lamella::dot(*this, other); }
  Tensor outer(const Tensor& other) const { return lamella::outer(*this, other); }

  // Reductions.
  Tensor sum(std::optional<ScalarType> type = std::nullopt) const {
    return lamella::sum(*this, std::nullopt, false, native(type));
  }
  Tensor sum(std::int64_t axis, bool keepdim = false) const { return lamella::sum(*this, axis, keepdim); }
  Tensor sum(OptionalIntArrayRef axes, bool keepdim = false, std::optional<ScalarType> type = std::nullopt) const {
    return lamella::sum(*this, to_dims(axes), keepdim, native(type));
  }
  Tensor mean() const { return lamella::mean(*this); }
  Tensor mean(std::int64_t axis, bool keepdim = false) const { return lamella::mean(*this, axis, keepdim); }
  Tensor mean(OptionalIntArrayRef axes, bool keepdim = false) const {
    return lamella::mean(*this, to_dims(axes), keepdim);
  }
  Tensor prod() const { return lamella::prod(*this); }
  Tensor prod(std::int64_t axis, bool keepdim = false) const { return lamella::prod(*this, axis, keepdim); }
  Tensor var(std::int64_t axis, bool unbiased, bool keepdim = false) const {
    return lamella::var(*this, lamella::Dims{axis}, unbiased ? 1 : 0, keepdim);
  }
  Tensor std(std::int64_t axis, bool unbiased, bool keepdim = false) const {
    return lamella::standard_deviation(*this, lamella::Dims{axis}, unbiased ? 1 : 0, keepdim);
  }
  Tensor var(bool unbiased = true) const { return lamella::var(*this, std::nullopt, unbiased ? 1 : 0); }
  Tensor std(bool unbiased = true) const { return lamella::standard_deviation(*this, std::nullopt, unbiased ? 1 : 0); }
  Tensor norm() const { return lamella::sqrt(lamella::sum(lamella::square(*this))); }
  Tensor max(const Tensor& other) const { return lamella::maximum(*this, other); }
  Tensor min(const Tensor& other) const { return lamella::minimum(*this, other); }
  Tensor max() const { return lamella::max(*this); }
  Tensor min() const { return lamella::min(*this); }
  std::tuple<Tensor, Tensor> max(std::int64_t axis, bool keepdim = false) const {
    return {lamella::max(*this, axis, keepdim), argmax(axis, keepdim)};
  }
  std::tuple<Tensor, Tensor> min(std::int64_t axis, bool keepdim = false) const {
    return {lamella::min(*this, axis, keepdim), argmin(axis, keepdim)};
  }
  Tensor argmax(std::optional<std::int64_t> axis = std::nullopt, bool keepdim = false) const {
    return lamella::argmax(*this, axis, keepdim);
  }
  Tensor argmin(std::optional<std::int64_t> axis = std::nullopt, bool keepdim = false) const {
    return lamella::argmin(*this, axis, keepdim);
  }
  Tensor all() const { return lamella::all(*this); }
  Tensor any() const { return lamella::any(*this); }
  Tensor all(std::int64_t axis, bool keepdim = false) const {
    return lamella::all(*this, lamella::Dims{axis}, keepdim);
  }
  Tensor any(std::int64_t axis, bool keepdim = false) const {
    return lamella::any(*this, lamella::Dims{axis}, keepdim);
  }
  Tensor cumsum(std::int64_t axis) const { return lamella::cumsum(*this, axis); }
  bool equal(const Tensor& other) const {
    return sizes() == other.sizes() && Tensor(lamella::equal(*this, other)).all().item<bool>();
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
  Tensor squeeze(std::int64_t axis) const { return size(axis) == 1 ? Tensor(lamella::squeeze(*this, axis)) : *this; }
  Tensor unsqueeze(std::int64_t axis) const { return lamella::expand_dims(*this, axis); }
  /// Expands axes of size 1; -1 keeps an axis as it is.
  Tensor expand(IntArrayRef shape, bool /*implicit*/ = false) const;
  Tensor expand_as(const Tensor& other) const { return expand(other.sizes()); }
  Tensor permute(IntArrayRef axes) const { return lamella::permute_dims(*this, to_dims(axes)); }
  Tensor transpose(std::int64_t a, std::int64_t b) const { return lamella::swapaxes(*this, a, b); }
  /// Returns the transpose of a matrix; a vector as it is.
  Tensor t() const { return ndim() < 2 ? *this : transpose(0, 1); }
  Tensor mT() const { return lamella::matrix_transpose(*this); }
  Tensor repeat(IntArrayRef times) const { return lamella::tile(*this, to_dims(times)); }
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
  Tensor select(std::int64_t axis, std::int64_t i) const { return lamella::select(*this, axis, i); }
  Tensor narrow(std::int64_t axis, std::int64_t start, std::int64_t length) const {
    return lamella::narrow(*this, axis, start, length);
  }
  Tensor slice(std::int64_t axis = 0, std::optional<std::int64_t> start = std::nullopt,
               std::optional<std::int64_t> end = std::nullopt, std::int64_t step = 1) const;
  Tensor index_select(std::int64_t axis, const Tensor& index) const {
    return lamella::index_select(*this, axis, index);
  }
  Tensor gather(std::int64_t axis, const Tensor& index) const { return lamella::gather(*this, axis, index); }
  Tensor scatter_add(std::int64_t axis, const Tensor& index, const Tensor& source) const {
    return lamella::scatter_add(*this, axis, index, source);
  }
  Tensor masked_fill(const Tensor& mask, const Scalar& value) const { return lamella::masked_fill(*this, mask, value); }
  Tensor masked_select(const Tensor& mask) const { return lamella::masked_select(*this, mask); }
  Tensor where(const Tensor& condition, const Tensor& other) const { return lamella::where(condition, *this, other); }

  // Copies, dtypes and devices.
  Tensor contiguous(MemoryFormat = MemoryFormat::Contiguous) const {
    return Native::is_contiguous() ? *this : Tensor(lamella::contiguous(*this));
  }
  Tensor clone(std::optional<MemoryFormat> = std::nullopt) const { return lamella::clone(*this); }
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
  Tensor type_as(const Tensor& other) const { return to(other.scalar_type()); }
  Tensor toType(ScalarType type) const { return to(type); }
  Tensor cpu() const { return to(Device(DeviceType::CPU)); }
  Tensor cuda() const { return to(Device(DeviceType::CUDA)); }

 private:
  static lamella::Tensor scaled(const Tensor& x, const Scalar& alpha) {
    return alpha.to<double>() == 1 && !alpha.isComplex() ? Native(x) : lamella::multiply(x, alpha);
  }
  static Scalar scaled(const Scalar& x, const Scalar& alpha) {
    if (x.isIntegral(true) && alpha.isIntegral(true)) return x.toLong() * alpha.toLong();
    return alpha.to<double>() == 1 ? x : Scalar(x.toDouble() * alpha.toDouble());
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
  /// Takes over the result of an in-place operator: x itself, or x as it is on the tape now.
  Tensor& kept(Native x) {
    Native::operator=(std::move(x));
    return *this;
  }
  void check_axes(std::size_t n) const {
    if (n != ndim())
      lamella::fail<lamella::ValueError>("[accessor] expected ", n, " axes, got ", lamella::describe(*this));
  }
};

static_assert(sizeof(Tensor) == sizeof(lamella::Tensor));

}  // namespace at
