#pragma once

// Methods of at::Tensor that are made of one or two of Lamella's operators: order, parts by index, in-place functions.

#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>

#include "ATen/core/Generator.h"
#include "ATen/core/List.h"
#include "c10/core/Scalar.h"
#include "c10/core/SymInt.h"
#include "c10/core/TensorOptions.h"
#include "c10/util/ArrayRef.h"
#include "engine/core/modes.h"
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

[[noreturn, gnu::cold]] inline void refuse_undefined(const char* method) {
  lamella::fail<lamella::RuntimeError>("[", method, "] expected a tensor, got an undefined one");
}

/// Base of T, at::Tensor, which is complete when the methods are compiled.
template <class T>
class MoreMethods {
 public:
  // Products.
  /// Returns beta * x + alpha * (a @ b); where beta is 0, what x holds does not matter.
  T addmm(const T& a, const T& b, const Scalar& beta = 1, const Scalar& alpha = 1) const {
    return added(times(a.mm(b), alpha), beta);
  }
  T baddbmm(const T& a, const T& b, const Scalar& beta = 1, const Scalar& alpha = 1) const {
    return added(times(a.bmm(b), alpha), beta);
  }
  T addmv(const T& a, const T& b, const Scalar& beta = 1, const Scalar& alpha = 1) const {
    return added(times(a.mv(b), alpha), beta);
  }
  T addcmul(const T& a, const T& b, const Scalar& value = 1) const { return x() + times(a * b, value); }
  T addcdiv(const T& a, const T& b, const Scalar& value = 1) const { return x() + times(a / b, value); }
  /// Returns the products of vectors along an axis: the first of size 3 if none is given.
  T cross(const T& other, std::optional<std::int64_t> axis = std::nullopt) const {
    std::int64_t at = axis.value_or(0);
    while (!axis && at < x().dim() - 1 && x().size(at) != 3) ++at;
    return lamella::cross(x(), other, at);
  }
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
  T cumprod(std::int64_t axis) const {
    const auto type = x().scalar_type();
    const bool widened = type == c10::kByte || type == c10::kUInt16 || type == c10::kUInt32 || type == c10::kUInt64;
    return lamella::cumprod(widened ? x().to(c10::kLong) : x(), axis);
  }
  T trace() const { return lamella::trace(x()); }

  // Order.
  std::tuple<T, T> sort(std::int64_t axis = -1, bool descending = false) const {
    const T order = argsort(axis, descending);
    return {x().gather(axis, order), order};
  }
  /// Sorts, which is always stable here.
  std::tuple<T, T> sort(std::optional<bool> /*stable*/, std::int64_t axis = -1, bool descending = false) const {
    return sort(axis, descending);
  }
  T argsort(std::int64_t axis = -1, bool descending = false) const { return lamella::argsort(x(), axis, descending); }
  std::tuple<T, T> topk(std::int64_t k, std::int64_t axis = -1, bool largest = true, bool sorted = true) const {
    const auto found = lamella::topk(x(), k, axis, largest, sorted);
    return {found.at(0), found.at(1)};
  }

  // Parts.
  /// Returns the places of elements that are not 0, a row for each.
  T nonzero() const {
    if (x().dim() == 0) {
      const bool found = x().ne(0).item().toBool();
      return T(lamella::empty({found ? 1 : 0, 0}, lamella::DType::Int64, x().device().native()));
    }
    const std::vector<lamella::Tensor> places = lamella::nonzero(x());
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
  T index_copy(std::int64_t axis, const T& places, const T& source) const {
    return lamella::index_copy(x(), axis, places, source);
  }
  T scatter_reduce(std::int64_t axis, const T& places, const T& source, std::string_view reduce,
                   bool include_self = true) const {
    return lamella::scatter_reduce(x(), axis, places, source, reduce, include_self);
  }
  T index_fill(std::int64_t axis, const T& places, const Scalar& value) const {
    const std::int64_t size = x().size(axis);
    return lamella::index_fill(x(), axis, lamella::where(places < 0, places + size, places), value);
  }
  /// Returns the elements at places along the first axes. An undefined tensor stands for all of an axis, and one of
  /// bytes is a mask.
  T index(const std::vector<T>& places) const { return lamella::index(x(), items_of(places)); }
  T index(const c10::List<std::optional<T>>& places) const { return lamella::index(x(), items_of(places.vec())); }
  T unfold(std::int64_t axis, std::int64_t size, std::int64_t step) const {
    return lamella::sliding_window(x(), axis, size, step);
  }
  std::vector<T> split_with_sizes(IntArrayRef sizes, std::int64_t axis = 0) const {
    std::vector<T> parts;
    std::int64_t at = 0;
    for (const std::int64_t size : sizes) {
      if (size < 0) lamella::fail<lamella::RuntimeError>("[split_with_sizes] a size of ", sizes, " is negative");
      at += size;
    }
    if (at != x().size(axis)) {
      lamella::fail<lamella::RuntimeError>("[split_with_sizes] sizes ", sizes, " add up to ", at, ", the axis has ",
                                           x().size(axis));
    }
    at = 0;
    for (const std::int64_t size : sizes) {
      parts.push_back(x().narrow(axis, at, size));
      at += size;
    }
    return parts;
  }

  // Shapes.
  T roll(std::int64_t shift, std::int64_t axis) const { return lamella::roll(x(), shift, axis); }
  /// Rolls along several axes, one after the other.
  T roll(IntArrayRef shifts, IntArrayRef axes) const {
    if (shifts.size() != axes.size()) {
      lamella::fail<lamella::RuntimeError>("[roll] shifts ", shifts, " and axes ", axes, " differ in number");
    }
    T made = x();
    for (std::size_t i = 0; i < axes.size(); ++i) made = made.roll(shifts[i], axes[i]);
    return made;
  }
  T movedim(std::int64_t from, std::int64_t to) const {
    return lamella::moveaxis(x(), lamella::Dims{from}, lamella::Dims{to});
  }
  T repeat_interleave(std::int64_t times, std::optional<std::int64_t> axis = std::nullopt) const {
    return lamella::repeat(x(), times, axis);
  }
  T repeat_interleave(const T& times, std::optional<std::int64_t> axis = std::nullopt) const {
    return lamella::repeat(x(), times, axis);
  }
  T nan_to_num(std::optional<double> nan = std::nullopt, std::optional<double> posinf = std::nullopt,
               std::optional<double> neginf = std::nullopt) const {
    return lamella::nan_to_num(x(), nan.value_or(0), posinf, neginf);
  }
  T logcumsumexp(std::int64_t axis) const { return lamella::logcumsumexp(x(), axis); }
  std::tuple<T, T> cummax(std::int64_t axis) const {
    const auto found = lamella::cummax(x(), axis);
    return {found.at(0), found.at(1)};
  }
  std::tuple<T, T> cummin(std::int64_t axis) const {
    const auto found = lamella::cummin(x(), axis);
    return {found.at(0), found.at(1)};
  }
  T masked_scatter(const T& mask, const T& source) const { return lamella::masked_scatter(x(), mask, source); }
  T swapaxes(std::int64_t a, std::int64_t b) const { return x().transpose(a, b); }
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

  // In place, on a const handle, too. Where the tape records, an operator reads a copy, as what it saves must stay.
  T& abs_() const {
    return updated([](const T& v) { return v.abs(); });
  }
  T& acos_() const {
    return updated([](const T& v) { return v.acos(); });
  }
  T& asin_() const {
    return updated([](const T& v) { return v.asin(); });
  }
  T& atan_() const {
    return updated([](const T& v) { return v.atan(); });
  }
  T& ceil_() const {
    return updated([](const T& v) { return v.ceil(); });
  }
  T& cos_() const {
    return updated([](const T& v) { return v.cos(); });
  }
  T& cosh_() const {
    return updated([](const T& v) { return v.cosh(); });
  }
  T& erf_() const {
    return updated([](const T& v) { return v.erf(); });
  }
  T& erfc_() const {
    return updated([](const T& v) { return v.erfc(); });
  }
  T& exp_() const {
    return updated([](const T& v) { return v.exp(); });
  }
  T& exp2_() const {
    return updated([](const T& v) { return v.exp2(); });
  }
  T& expm1_() const {
    return updated([](const T& v) { return v.expm1(); });
  }
  T& floor_() const {
    return updated([](const T& v) { return v.floor(); });
  }
  T& frac_() const {
    return updated([](const T& v) { return v.frac(); });
  }
  T& log_() const {
    return updated([](const T& v) { return v.log(); });
  }
  T& log10_() const {
    return updated([](const T& v) { return v.log10(); });
  }
  T& log1p_() const {
    return updated([](const T& v) { return v.log1p(); });
  }
  T& log2_() const {
    return updated([](const T& v) { return v.log2(); });
  }
  T& neg_() const {
    return updated([](const T& v) { return v.neg(); });
  }
  T& reciprocal_() const {
    return updated([](const T& v) { return v.reciprocal(); });
  }
  T& relu_() const {
    return updated([](const T& v) { return v.relu(); });
  }
  T& round_() const {
    return updated([](const T& v) { return v.round(); });
  }
  T& rsqrt_() const {
    return updated([](const T& v) { return v.rsqrt(); });
  }
  T& sigmoid_() const {
    return updated([](const T& v) { return v.sigmoid(); });
  }
  T& sign_() const {
    return updated([](const T& v) { return v.sign(); });
  }
  T& sin_() const {
    return updated([](const T& v) { return v.sin(); });
  }
  T& sinh_() const {
    return updated([](const T& v) { return v.sinh(); });
  }
  T& sqrt_() const {
    return updated([](const T& v) { return v.sqrt(); });
  }
  T& square_() const {
    return updated([](const T& v) { return v.square(); });
  }
  T& tan_() const {
    return updated([](const T& v) { return v.tan(); });
  }
  T& tanh_() const {
    return updated([](const T& v) { return v.tanh(); });
  }
  T& trunc_() const {
    return updated([](const T& v) { return v.trunc(); });
  }
  T& pow_(const Scalar& exponent) const {
    return updated([&](const T& v) { return v.pow(exponent); });
  }
  T& pow_(const T& exponent) const {
    return updated([&](const T& v) { return v.pow(exponent); });
  }
  T& clamp_(const std::optional<Scalar>& min, const std::optional<Scalar>& max = std::nullopt) const {
    return updated([&](const T& v) { return v.clamp(min, max); });
  }
  T& clamp_min_(const Scalar& min) const { return clamp_(min); }
  T& clamp_max_(const Scalar& max) const { return clamp_(std::nullopt, max); }
  T& lerp_(const T& end, const Scalar& weight) const {
    return updated([&](const T& v) { return v.lerp(end, weight); });
  }
  T& div_(const auto& other, std::optional<std::string_view> rounding_mode) const {
    return updated([&](const T& v) { return v.div(other, rounding_mode); });
  }
  T& floor_divide_(const auto& other) const { return written(x().floor_divide(other)); }
  T& remainder_(const auto& other) const {
    return updated([&](const T& v) { return v.remainder(other); });
  }
  T& addmm_(const T& a, const T& b, const Scalar& beta = 1, const Scalar& alpha = 1) const {
    return written(addmm(a, b, beta, alpha));
  }
  T& baddbmm_(const T& a, const T& b, const Scalar& beta = 1, const Scalar& alpha = 1) const {
    return written(baddbmm(a, b, beta, alpha));
  }
  T& addcmul_(const T& a, const T& b, const Scalar& value = 1) const { return written(addcmul(a, b, value)); }
  T& addcdiv_(const T& a, const T& b, const Scalar& value = 1) const { return written(addcdiv(a, b, value)); }
  T& scatter_(std::int64_t axis, const T& places, const T& source) const {
    return check_source(source, "scatter_"), written(scatter(axis, places, source));
  }
  T& scatter_(std::int64_t axis, const T& places, const Scalar& value) const {
    return written(scatter(axis, places, value));
  }
  T& scatter_add_(std::int64_t axis, const T& places, const T& source) const {
    return check_source(source, "scatter_add_"), written(x().scatter_add(axis, places, source));
  }
  T& scatter_reduce_(std::int64_t axis, const T& places, const T& source, std::string_view reduce,
                     bool include_self = true) const {
    check_source(source, "scatter_reduce_");
    return updated([&](const T& v) { return v.scatter_reduce(axis, places, source, reduce, include_self); });
  }
  T& index_add_(std::int64_t axis, const T& places, const T& source) const {
    return check_source(source, "index_add_"), written(index_add(axis, places, source));
  }
  T& index_copy_(std::int64_t axis, const T& places, const T& source) const {
    return check_source(source, "index_copy_"), written(index_copy(axis, places, source));
  }
  T& masked_scatter_(const T& mask, const T& source) const {
    return check_source(source, "masked_scatter_"), written(masked_scatter(mask, source));
  }
  T& true_divide_(const T& other) const { return x().div_(other); }
  T& fill_diagonal_(const Scalar& value) const { return diagonal().fill_(value), self(); }
  T& index_fill_(std::int64_t axis, const T& places, const Scalar& value) const {
    return written(index_fill(axis, places, value));
  }
  T& index_put_(const std::vector<T>& places, const T& values, bool accumulate = false) const {
    return put(items_of(places), values, accumulate);
  }
  T& index_put_(const c10::List<std::optional<T>>& places, const T& values, bool accumulate = false) const {
    return put(items_of(places.vec()), values, accumulate);
  }

  // Another shape in place. A tensor's shape never changes: the handle comes to stand for another tensor on the same
  // memory, which is the same where no other handle knows the first.
  T& squeeze_() const {
    return reshaped("squeeze_", [&] { return x().squeeze(); });
  }
  T& squeeze_(std::int64_t axis) const {
    return reshaped("squeeze_", [&] { return x().squeeze(axis); });
  }
  T& unsqueeze_(std::int64_t axis) const {
    return reshaped("unsqueeze_", [&] { return x().unsqueeze(axis); });
  }
  T& transpose_(std::int64_t a, std::int64_t b) const {
    return reshaped("transpose_", [&] { return x().transpose(a, b); });
  }
  T& swapaxes_(std::int64_t a, std::int64_t b) const { return transpose_(a, b); }
  T& t_() const {
    return reshaped("t_", [&] { return x().t(); });
  }

  /// Writes a result over this tensor, as functions that are given one do.
  T& give_(const T& result) const { return written(result); }

  // Random numbers, in place.
  T& uniform_(double from = 0, double to = 1, const std::optional<at::Generator>& generator = std::nullopt) const {
    return lamella::uniform_(x(), from, to, detail::native_generator(generator)), self();
  }
  T& normal_(double mean = 0, double std = 1, const std::optional<at::Generator>& generator = std::nullopt) const {
    return lamella::normal_(x(), mean, std, detail::native_generator(generator)), self();
  }
  T& exponential_(double rate = 1, const std::optional<at::Generator>& generator = std::nullopt) const {
    return lamella::exponential_(x(), rate, detail::native_generator(generator)), self();
  }
  T& bernoulli_(double p = 0.5, const std::optional<at::Generator>& generator = std::nullopt) const {
    return lamella::bernoulli_(x(), p, detail::native_generator(generator)), self();
  }
  T& random_(std::int64_t from, std::optional<std::int64_t> to,
             const std::optional<at::Generator>& generator = std::nullopt) const {
    return lamella::random_(x(), from, to, detail::native_generator(generator)), self();
  }
  T& random_(std::int64_t to, const std::optional<at::Generator>& generator = std::nullopt) const {
    return random_(0, to, generator);
  }
  T& random_(const std::optional<at::Generator>& generator = std::nullopt) const {
    return random_(0, std::nullopt, generator);
  }

 protected:
  /// Writes values at the places that the items pick; adds them if `accumulate`.
  T& put(const lamella::IndexItems& items, const T& values, bool accumulate) const {
    for (const lamella::IndexItem& item : items) {
      if (std::holds_alternative<lamella::Tensor>(item)) check_source(values, "index_put_");
    }
    if (accumulate) return written(lamella::add_at_index(x(), items, values));
    return lamella::set_index(x(), items, values), self();
  }
  static lamella::IndexItem item_of(const T& place) {
    return place.scalar_type() == c10::kByte ? place.to(c10::kBool) : place;
  }

 private:
  /// Makes the handle stand for what make() returns; RuntimeError if others know the tensor, which would not follow.
  template <class Make>
  T& reshaped(const char* name, Make make) const {
    if (x().use_count() > 1) {
      lamella::fail<lamella::RuntimeError>("[", name, "] ", lamella::describe(x()),
                                           " is held by others, whose shape would stay: write x = x.",
                                           std::string_view(name, std::string_view(name).size() - 1), "(...)");
    }
    if (x().requires_grad() && x().is_leaf() && lamella::autograd::is_grad_enabled()) {
      lamella::fail<lamella::RuntimeError>("[", name, "] a leaf that wants a gradient cannot be changed in place");
    }
    return self() = make();
  }
  const T& handle() const noexcept { return static_cast<const T&>(*this); }
  /// Returns the tensor; RuntimeError if it is undefined.
  const T& x() const {
    if (!handle().defined()) [[unlikely]]
      refuse_undefined("method");
    return handle();
  }
  T& self() const noexcept { return const_cast<T&>(handle()); }
  static bool is(const Scalar& value, double number) { return !value.isComplex() && value.toDouble() == number; }
  static T times(const T& value, const Scalar& factor) { return is(factor, 1) ? value : value * factor; }
  /// Returns beta * x + value, of value's shape.
  T added(const T& value, const Scalar& beta) const { return is(beta, 0) ? value : times(x(), beta) + value; }
  /// Returns the items of an index; IndexError if no tensor is among them.
  template <class Place>
  static lamella::IndexItems items_of(const std::vector<Place>& places) {
    lamella::IndexItems items;
    bool found = false;
    for (const Place& each : places) {
      const std::optional<T> place = each;
      const bool given = place && place->defined();
      items.push_back(given ? item_of(*place) : lamella::IndexItem(lamella::Slice{}));
      found = found || given;
    }
    if (!found) lamella::fail<lamella::IndexError>("[index] expected at least one tensor that is defined");
    return items;
  }
  /// Throws RuntimeError for values of another dtype than x's, which are not cast silently.
  void check_source(const T& source, const char* op) const {
    if (source.scalar_type() == x().scalar_type()) return;
    lamella::fail<lamella::RuntimeError>("[", op, "] expected values of ", x().scalar_type(), ", got ",
                                         source.scalar_type());
  }
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
  /// Writes a result over x; RuntimeError if its dtype is of a higher kind than x's.
  T& written(const T& value) const {
    const lamella::DType own = c10::to_dtype(x().scalar_type()), made = c10::to_dtype(value.scalar_type());
    const auto kind = [](lamella::DType type) {
      return lamella::is_complex(type) ? 3 : lamella::is_floating(type) ? 2 : type == lamella::DType::Bool ? 0 : 1;
    };
    if (kind(made) > kind(own)) {
      lamella::fail<lamella::RuntimeError>("result type ", value.scalar_type(),
                                           " can't be cast to the desired output type ", x().scalar_type());
    }
    return lamella::copy_(x(), value), self();
  }
  template <class F>
  T& updated(F function) const {
    const bool recorded = lamella::autograd::is_grad_enabled() && x().requires_grad();
    return written(function(recorded ? T(lamella::clone(x())) : x()));
  }
};

}  // namespace at::detail
