#pragma once

// Methods of at::Tensor that are made of one or two of Lamella's operators: order, parts by index, in-place functions.

#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include "c10/core/Scalar.h"
#include "c10/core/SymInt.h"
#include "c10/core/TensorOptions.h"
#include "c10/util/ArrayRef.h"
#include "ops/index/index.h"
#include "ops/registration/all_ops.h"

namespace at::detail {

using c10::IntArrayRef;
using c10::OptionalIntArrayRef;
using c10::Scalar;
using c10::SymInt;
using c10::SymIntArrayRef;
using c10::TensorOptions;
using c10::to_dims;

/// Base of T, at::Tensor, which is complete when the methods are compiled.
template <class T>
class MoreMethods {
 public:
  // Products.
  T addmm(const T& a, const T& b, const Scalar& beta = 1, const Scalar& alpha = 1) const {
    return times(x(), beta) + times(a.mm(b), alpha);
  }
  T baddbmm(const T& a, const T& b, const Scalar& beta = 1, const Scalar& alpha = 1) const {
    return times(x(), beta) + times(a.bmm(b), alpha);
  }
  T addcmul(const T& a, const T& b, const Scalar& value = 1) const { return x() + times(a * b, value); }
  T addcdiv(const T& a, const T& b, const Scalar& value = 1) const { return x() + times(a / b, value); }
  T cross(const T& other, std::int64_t axis = -1) const { return lamella::cross(x(), other, axis); }
  T lerp(const T& end, const Scalar& weight) const { return lamella::lerp(x(), end, weight); }
  T lerp(const T& end, const T& weight) const { return lamella::lerp(x(), end, weight); }
  T true_divide(const T& other) const { return x().div(other); }
  T rsub(const Scalar& other) const { return other - x(); }
  T rsub(const T& other) const { return other - x(); }

  // Reductions.
  T amax(OptionalIntArrayRef axes = {}, bool keepdim = false) const { return lamella::max(x(), over(axes), keepdim); }
  T amax(std::int64_t axis, bool keepdim = false) const { return lamella::max(x(), axis, keepdim); }
  T amin(OptionalIntArrayRef axes = {}, bool keepdim = false) const { return lamella::min(x(), over(axes), keepdim); }
  T amin(std::int64_t axis, bool keepdim = false) const { return lamella::min(x(), axis, keepdim); }
  T logsumexp(IntArrayRef axes, bool keepdim = false) const { return lamella::logsumexp(x(), to_dims(axes), keepdim); }
  T logsumexp(std::int64_t axis, bool keepdim = false) const {
    return lamella::logsumexp(x(), lamella::Dims{axis}, keepdim);
  }
  T count_nonzero() const { return lamella::count_nonzero(x()); }
  T cumprod(std::int64_t axis) const { return lamella::cumprod(x(), axis); }
  T trace() const { return lamella::trace(x()); }

  // Order.
  std::tuple<T, T> sort(std::int64_t axis = -1, bool descending = false) const {
    const T order = argsort(axis, descending);
    return {x().gather(axis, order), order};
  }
  T argsort(std::int64_t axis = -1, bool descending = false) const { return lamella::argsort(x(), axis, descending); }
  std::tuple<T, T> topk(std::int64_t k, std::int64_t axis = -1, bool largest = true, bool sorted = true) const {
    const auto found = lamella::topk(x(), k, axis, largest, sorted);
    return {found.at(0), found.at(1)};
  }

  // Parts.
  /// Returns the places of elements that are not 0, a row for each.
  T nonzero() const {
    const std::vector<lamella::Tensor> places = lamella::nonzero(x());
    if (places.empty()) return T(lamella::empty({x().item().toDouble() != 0 ? 1 : 0, 0}, lamella::DType::Int64));
    return lamella::stack(places, 1);
  }
  T diagonal(std::int64_t offset = 0, std::int64_t first = 0, std::int64_t second = 1) const {
    return lamella::diagonal(x(), offset, first, second);
  }
  T take(const T& places) const { return lamella::take(x(), places); }
  T scatter(std::int64_t axis, const T& places, const T& source) const {
    return lamella::scatter(x(), axis, places, source);
  }
  T scatter(std::int64_t axis, const T& places, const Scalar& value) const {
    return lamella::scatter(x(), axis, places, value);
  }
  T index_add(std::int64_t axis, const T& places, const T& source) const {
    return lamella::index_add(x(), axis, places, source);
  }
  T index_fill(std::int64_t axis, const T& places, const Scalar& value) const {
    return lamella::index_fill(x(), axis, places, value);
  }
  /// Returns the elements at places along the first axes.
  T index(const std::vector<T>& places) const {
    return lamella::index(x(), lamella::IndexItems(places.begin(), places.end()));
  }
  T unfold(std::int64_t axis, std::int64_t size, std::int64_t step) const {
    return lamella::sliding_window(x(), axis, size, step);
  }
  std::vector<T> split_with_sizes(IntArrayRef sizes, std::int64_t axis = 0) const {
    std::vector<T> parts;
    std::int64_t at = 0;
    for (const std::int64_t size : sizes) {
      parts.push_back(x().narrow(axis, at, size));
      at += size;
    }
    if (at != x().size(axis)) {
      lamella::fail<lamella::ValueError>("[split_with_sizes] sizes ", sizes, " add up to ", at, ", the axis has ",
                                         x().size(axis));
    }
    return parts;
  }

  // Shapes.
  T roll(std::int64_t shift, std::int64_t axis) const { return lamella::roll(x(), shift, axis); }
  T movedim(std::int64_t from, std::int64_t to) const {
    return lamella::moveaxis(x(), lamella::Dims{from}, lamella::Dims{to});
  }
  T repeat_interleave(std::int64_t times, std::optional<std::int64_t> axis = std::nullopt) const {
    return lamella::repeat(x(), times, axis);
  }
  T tile(IntArrayRef times) const { return lamella::tile(x(), to_dims(times)); }
  T ravel() const { return x().reshape({-1}); }
  T half() const { return x().to(c10::kHalf); }

  // New tensors with the dtype and device of this one, unless options say otherwise.
  T new_empty(IntArrayRef shape, const TensorOptions& options = {}) const {
    const TensorOptions all = filled(options);
    return lamella::empty(to_dims(shape), c10::to_dtype(all.dtype()), all.device().native());
  }
  T new_full(IntArrayRef shape, const Scalar& value, const TensorOptions& options = {}) const {
    const TensorOptions all = filled(options);
    return lamella::full(to_dims(shape), value, all.native_dtype(), all.native_device());
  }
  T new_zeros(IntArrayRef shape, const TensorOptions& options = {}) const { return new_full(shape, 0, options); }
  T new_ones(IntArrayRef shape, const TensorOptions& options = {}) const { return new_full(shape, 1, options); }

  // Methods of sizes that may be left open.
  T view_symint(SymIntArrayRef shape) const { return x().view(numbers(shape)); }
  T reshape_symint(SymIntArrayRef shape) const { return x().reshape(numbers(shape)); }
  T expand_symint(SymIntArrayRef shape, bool implicit = false) const { return x().expand(numbers(shape), implicit); }
  T repeat_symint(SymIntArrayRef times) const { return x().repeat(numbers(times)); }
  T narrow_symint(std::int64_t axis, SymInt start, SymInt length) const {
    return x().narrow(axis, start.expect_int(), length.expect_int());
  }
  T select_symint(std::int64_t axis, SymInt i) const { return x().select(axis, i.expect_int()); }
  T slice_symint(std::int64_t axis = 0, std::optional<SymInt> start = std::nullopt,
                 std::optional<SymInt> end = std::nullopt, SymInt step = 1) const {
    return x().slice(axis, number(start), number(end), step.expect_int());
  }
  T new_empty_symint(SymIntArrayRef shape, const TensorOptions& options = {}) const {
    return new_empty(numbers(shape), options);
  }
  T new_full_symint(SymIntArrayRef shape, const Scalar& value, const TensorOptions& options = {}) const {
    return new_full(numbers(shape), value, options);
  }
  T new_zeros_symint(SymIntArrayRef shape, const TensorOptions& options = {}) const {
    return new_zeros(numbers(shape), options);
  }
  T new_ones_symint(SymIntArrayRef shape, const TensorOptions& options = {}) const {
    return new_ones(numbers(shape), options);
  }

  // In place.
  T& neg_() { return written(x().neg()); }
  T& abs_() { return written(x().abs()); }
  T& exp_() { return written(x().exp()); }
  T& sqrt_() { return written(x().sqrt()); }
  T& square_() { return written(x().square()); }
  T& relu_() { return written(x().relu()); }
  T& sigmoid_() { return written(x().sigmoid()); }
  T& tanh_() { return written(x().tanh()); }
  T& pow_(const Scalar& exponent) { return written(x().pow(exponent)); }
  T& clamp_(const std::optional<Scalar>& min, const std::optional<Scalar>& max = std::nullopt) {
    return written(x().clamp(min, max));
  }
  T& clamp_min_(const Scalar& min) { return written(x().clamp_min(min)); }
  T& addmm_(const T& a, const T& b, const Scalar& beta = 1, const Scalar& alpha = 1) {
    return written(addmm(a, b, beta, alpha));
  }
  T& addcmul_(const T& a, const T& b, const Scalar& value = 1) { return written(addcmul(a, b, value)); }
  T& addcdiv_(const T& a, const T& b, const Scalar& value = 1) { return written(addcdiv(a, b, value)); }
  T& scatter_(std::int64_t axis, const T& places, const T& source) { return written(scatter(axis, places, source)); }
  T& scatter_(std::int64_t axis, const T& places, const Scalar& value) { return written(scatter(axis, places, value)); }
  T& scatter_add_(std::int64_t axis, const T& places, const T& source) {
    return written(x().scatter_add(axis, places, source));
  }
  T& index_add_(std::int64_t axis, const T& places, const T& source) {
    return written(index_add(axis, places, source));
  }
  T& index_fill_(std::int64_t axis, const T& places, const Scalar& value) {
    return written(index_fill(axis, places, value));
  }
  T& index_put_(const std::vector<T>& places, const T& values, bool accumulate = false) {
    const std::vector<lamella::Tensor> native(places.begin(), places.end());
    return written(lamella::index_put(x(), native, values, accumulate));
  }

 private:
  const T& x() const noexcept { return static_cast<const T&>(*this); }
  static T times(const T& value, const Scalar& factor) { return factor.toDouble() == 1 ? value : value * factor; }
  /// Returns the axes of a reduction: all for an empty list.
  static IntArrayRef numbers(SymIntArrayRef sizes) { return c10::asIntArrayRefUnchecked(sizes); }
  static std::optional<std::int64_t> number(std::optional<SymInt> value) {
    return value ? value->maybe_as_int() : std::nullopt;
  }
  static std::optional<lamella::Dims> over(const OptionalIntArrayRef& axes) {
    return axes && !axes->empty() ? to_dims(axes) : std::nullopt;
  }
  TensorOptions filled(const TensorOptions& options) const {
    TensorOptions all = options;
    if (!all.has_dtype()) all = all.dtype(x().scalar_type());
    if (!all.has_device()) all = all.device(x().device());
    return all;
  }
  T& written(const T& value) {
    T& self = static_cast<T&>(*this);
    self = T(lamella::copy_(self, value));
    return self;
  }
};

}  // namespace at::detail
