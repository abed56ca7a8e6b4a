#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <ostream>
#include <span>
#include <type_traits>
#include <vector>

#include "engine/core/error.h"
#include "engine/core/shape.h"

namespace c10 {

/// View of elements owned by somebody else: of a vector, an array, a braced list, or of one element.
template <class T>
class ArrayRef {
 public:
  using value_type = T;
  using size_type = std::size_t;
  using iterator = const T*;
  using const_iterator = const T*;

  constexpr ArrayRef() = default;
  constexpr ArrayRef(const T& element) : data_(&element), size_(1) {}
  constexpr ArrayRef(const T* data, std::size_t size) : data_(data), size_(size) {}
  constexpr ArrayRef(const T* first, const T* last) : data_(first), size_(static_cast<std::size_t>(last - first)) {}
  ArrayRef(const std::vector<T>& values)
    requires(!std::is_same_v<T, bool>)
      : data_(values.data()), size_(values.size()) {}
  template <std::size_t N>
  constexpr ArrayRef(const std::array<T, N>& values) : data_(values.data()), size_(N) {}
  template <std::size_t N>
  constexpr ArrayRef(const T (&values)[N]) : data_(values), size_(N) {}
  // The list lives to the end of the full expression, as in PyTorch.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winit-list-lifetime"
  constexpr ArrayRef(const std::initializer_list<T>& values) : data_(values.begin()), size_(values.size()) {}
#pragma GCC diagnostic pop
  constexpr ArrayRef(std::span<const T> values) : data_(values.data()), size_(values.size()) {}
  template <std::size_t N>
  ArrayRef(const lamella::SmallVector<T, N>& values) : data_(values.data()), size_(values.size()) {}

  constexpr iterator begin() const { return data_; }
  constexpr iterator end() const { return data_ + size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr const T* data() const { return data_; }
  constexpr std::size_t size() const { return size_; }
  /// Returns the element `i`, unchecked; at() checks.
  constexpr const T& operator[](std::size_t i) const { return data_[i]; }
  const T& at(std::size_t i) const {
    if (i >= size_) lamella::fail<lamella::IndexError>("[ArrayRef] index ", i, " of ", size_, " elements");
    return data_[i];
  }
  const T& front() const { return at(0); }
  const T& back() const { return at(size_ - 1); }
  /// Returns `count` elements from `first`; IndexError if there are fewer.
  ArrayRef slice(std::size_t first, std::size_t count) const {
    if (first + count > size_) lamella::fail<lamella::IndexError>("[ArrayRef] slice beyond ", size_, " elements");
    return ArrayRef(data_ + first, count);
  }
  ArrayRef slice(std::size_t first) const { return slice(first, size_ - first); }
  std::vector<T> vec() const { return std::vector<T>(begin(), end()); }
  bool equals(ArrayRef other) const { return std::equal(begin(), end(), other.begin(), other.end()); }
  constexpr operator std::span<const T>() const { return {data_, size_}; }

 private:
  const T* data_ = nullptr;
  std::size_t size_ = 0;
};

template <class T>
bool operator==(ArrayRef<T> a, ArrayRef<T> b) {
  return a.equals(b);
}
template <class T>
bool operator==(const std::vector<T>& a, ArrayRef<T> b) {
  return ArrayRef<T>(a).equals(b);
}
template <class T>
bool operator==(ArrayRef<T> a, const std::vector<T>& b) {
  return a.equals(ArrayRef<T>(b));
}

template <class T>
std::ostream& operator<<(std::ostream& out, ArrayRef<T> values) {
  out << "[";
  for (std::size_t i = 0; i < values.size(); ++i) out << (i ? ", " : "") << values[i];
  return out << "]";
}

using IntArrayRef = ArrayRef<std::int64_t>;

/// A view of elements, or nothing.
template <class T>
class OptionalArrayRef : public std::optional<ArrayRef<T>> {
 public:
  using Base = std::optional<ArrayRef<T>>;
  constexpr OptionalArrayRef() = default;
  constexpr OptionalArrayRef(std::nullopt_t) {}
  constexpr OptionalArrayRef(ArrayRef<T> values) : Base(values) {}
  constexpr OptionalArrayRef(const Base& values) : Base(values) {}
  constexpr OptionalArrayRef(const std::initializer_list<T>& values) : Base(ArrayRef<T>(values)) {}
  OptionalArrayRef(const std::vector<T>& values) : Base(ArrayRef<T>(values)) {}
};
using OptionalIntArrayRef = OptionalArrayRef<std::int64_t>;

/// Converts sizes to the type of Lamella's operators.
inline lamella::Dims to_dims(IntArrayRef sizes) { return lamella::Dims(sizes.begin(), sizes.end()); }
inline std::optional<lamella::Dims> to_dims(const OptionalIntArrayRef& sizes) {
  return sizes ? std::optional(to_dims(*sizes)) : std::nullopt;
}

}  // namespace c10
