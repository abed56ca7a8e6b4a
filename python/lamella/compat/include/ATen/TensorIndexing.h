#pragma once

// Items of x.index({...}): integers, slices, new axes, `...` and tensors.

#include <optional>
#include <string_view>
#include <type_traits>

#include "ATen/Functions.h"

namespace at::indexing {

inline constexpr std::nullopt_t None = std::nullopt;
struct EllipsisIndexType {};
inline constexpr EllipsisIndexType Ellipsis;

/// A slice start:stop:step, whose step is above 0.
class Slice {
 public:
  Slice(std::optional<SymInt> start = std::nullopt, std::optional<SymInt> stop = std::nullopt,
        std::optional<SymInt> step = std::nullopt)
      : native_{number(start), number(stop), number(step).value_or(1)} {
    if (native_.step <= 0) lamella::fail<lamella::ValueError>("[Slice] expected a step above 0, got ", native_.step);
  }
  std::int64_t start() const { return native_.start.value_or(0); }
  std::int64_t step() const { return native_.step; }
  const lamella::Slice& native() const { return native_; }

 private:
  static std::optional<std::int64_t> number(std::optional<SymInt> value) {
    return value ? value->maybe_as_int() : std::nullopt;
  }
  lamella::Slice native_;
};

/// An item of an index.
class TensorIndex {
 public:
  TensorIndex(std::nullopt_t) : item_(lamella::NewAxis{}) {}
  TensorIndex(EllipsisIndexType) : item_(lamella::Ellipsis{}) {}
  TensorIndex(const char* text) : item_(lamella::Ellipsis{}) {
    if (std::string_view(text) != "...") lamella::fail<lamella::ValueError>("[index] expected \"...\", got ", text);
  }
  template <class T>
    requires(std::is_integral_v<T>)
  TensorIndex(T index) : item_(static_cast<std::int64_t>(index)) {
    if constexpr (std::is_same_v<T, bool>) item_ = lamella::full({}, index, lamella::DType::Bool);
  }
  TensorIndex(SymInt index) : item_(index.expect_int()) {}
  TensorIndex(Slice slice) : item_(slice.native()) {}
  /// An undefined tensor stands for the whole axis, and one of bytes is a mask.
  TensorIndex(const Tensor& places) : item_(lamella::Slice{}), undefined_(!places.defined()) {
    if (undefined_) return;
    item_ = lamella::Tensor(places.scalar_type() == kByte ? places.to(kBool) : places);
  }
  TensorIndex(const std::optional<Tensor>& places) : TensorIndex(places.value_or(Tensor())) {}

  /// Returns the items for the engine; IndexError if all are undefined tensors.
  static lamella::IndexItems native(ArrayRef<TensorIndex> items) {
    lamella::IndexItems all;
    bool found = false;
    for (const TensorIndex& each : items) {
      all.push_back(each.item_);
      found = found || !each.undefined_;
    }
    if (!found) lamella::fail<lamella::IndexError>("[index] expected at least one index");
    return all;
  }

 private:
  lamella::IndexItem item_;
  bool undefined_ = false;
};

}  // namespace at::indexing

namespace at {

inline Tensor Tensor::index(ArrayRef<indexing::TensorIndex> items) const {
  return lamella::index(known("index"), indexing::TensorIndex::native(items));
}
inline Tensor Tensor::index(std::initializer_list<indexing::TensorIndex> items) const {
  return index(ArrayRef<indexing::TensorIndex>(items));
}
inline Tensor& Tensor::index_put_(ArrayRef<indexing::TensorIndex> items, const Tensor& values, bool accumulate) const {
  return put(indexing::TensorIndex::native(items), values, accumulate);
}
inline Tensor& Tensor::index_put_(std::initializer_list<indexing::TensorIndex> items, const Tensor& values,
                                  bool accumulate) const {
  return index_put_(ArrayRef<indexing::TensorIndex>(items), values, accumulate);
}
inline Tensor& Tensor::index_put_(ArrayRef<indexing::TensorIndex> items, const Scalar& value) const {
  return put(indexing::TensorIndex::native(items), scalar_tensor(value, options()), false);
}
inline Tensor& Tensor::index_put_(std::initializer_list<indexing::TensorIndex> items, const Scalar& value) const {
  return index_put_(ArrayRef<indexing::TensorIndex>(items), value);
}

inline Tensor index(const Tensor& x, const std::vector<Tensor>& places) { return x.index(places); }
inline Tensor index(const Tensor& x, const c10::List<std::optional<Tensor>>& places) { return x.index(places); }
inline Tensor index(const Tensor& x, std::initializer_list<indexing::TensorIndex> items) { return x.index(items); }

}  // namespace at
