#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

namespace lamella {

/// A vector whose first N elements need no allocation. The subset of std::vector that the engine uses.
template <class T, std::size_t N>
class SmallVector {
  static_assert(N > 0);

 public:
  using value_type = T;
  using iterator = T*;
  using const_iterator = const T*;

  SmallVector() noexcept : data_(inline_data()) {}
  explicit SmallVector(std::size_t count) : SmallVector() { resize(count); }
  SmallVector(std::size_t count, const T& value) : SmallVector() { resize(count, value); }
  SmallVector(std::initializer_list<T> values) : SmallVector() { assign(values.begin(), values.end()); }
  template <class It>
    requires(!std::is_integral_v<It>)
  SmallVector(It first, It last) : SmallVector() {
    assign(first, last);
  }
  SmallVector(std::span<const T> values) : SmallVector() { assign(values.begin(), values.end()); }
  SmallVector(const SmallVector& other) : SmallVector() { assign(other.begin(), other.end()); }
  SmallVector(SmallVector&& other) noexcept : SmallVector() { take(other); }
  SmallVector& operator=(const SmallVector& other) {
    if (this != &other) assign(other.begin(), other.end());
    return *this;
  }
  SmallVector& operator=(SmallVector&& other) noexcept {
    if (this != &other) {
      clear();
      free_heap();
      take(other);
    }
    return *this;
  }
  ~SmallVector() {
    if (size_ != 0) clear();  // not inlined if T has a destructor
    free_heap();
  }

  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  T* data() noexcept { return data_; }
  const T* data() const noexcept { return data_; }
  T* begin() noexcept { return data_; }
  T* end() noexcept { return data_ + size_; }
  const T* begin() const noexcept { return data_; }
  const T* end() const noexcept { return data_ + size_; }
  T& operator[](std::size_t i) noexcept { return data_[i]; }
  const T& operator[](std::size_t i) const noexcept { return data_[i]; }
  T& front() noexcept { return data_[0]; }
  const T& front() const noexcept { return data_[0]; }
  T& back() noexcept { return data_[size_ - 1]; }
  const T& back() const noexcept { return data_[size_ - 1]; }

  template <class It>
  void assign(It first, It last) {
    clear();
    if constexpr (std::contiguous_iterator<It> && std::is_trivially_copyable_v<T> &&
                  std::is_same_v<std::iter_value_t<It>, T>) {
      const auto count = static_cast<std::size_t>(last - first);
      reserve(count);
      for (std::size_t i = 0; i < count; ++i) data_[i] = first[static_cast<std::ptrdiff_t>(i)];
      size_ = static_cast<std::uint32_t>(count);
    } else {
      for (; first != last; ++first) emplace_back(*first);
    }
  }
  void reserve(std::size_t count) {
    if (count > capacity_) grow(count);
  }
  void resize(std::size_t count) {
    reserve(count);
    while (size_ > count) pop_back();
    for (; size_ < count; ++size_) new (data_ + size_) T();
  }
  void resize(std::size_t count, const T& value) {
    if (count > capacity_) {
      const T copy(value);  // `value` may be an element of this vector
      grow(count);
      return resize(count, copy);
    }
    while (size_ > count) pop_back();
    for (; size_ < count; ++size_) new (data_ + size_) T(value);
  }
  template <class... Args>
  T& emplace_back(Args&&... args) {
    // Counted after the construction, because the constructor may throw.
    if (size_ == capacity_) {
      T made(std::forward<Args>(args)...);  // the arguments may be elements of this vector
      grow(std::size_t{capacity_} * 2);
      new (data_ + size_) T(std::move(made));
    } else {
      new (data_ + size_) T(std::forward<Args>(args)...);
    }
    return data_[size_++];
  }
  void push_back(T value) { emplace_back(std::move(value)); }
  void pop_back() noexcept { data_[--size_].~T(); }
  T* insert(const T* position, T value) {
    const std::size_t at = static_cast<std::size_t>(position - data_);
    emplace_back(std::move(value));
    std::rotate(data_ + at, data_ + size_ - 1, data_ + size_);
    return data_ + at;
  }
  T* erase(const T* position) {
    T* at = data_ + (position - data_);
    std::move(at + 1, end(), at);
    pop_back();
    return at;
  }
  void clear() noexcept {
    std::destroy_n(data_, size_);
    size_ = 0;
  }

  operator std::span<const T>() const noexcept { return {data_, size_}; }
  operator std::span<T>() noexcept { return {data_, size_}; }
  friend bool operator==(const SmallVector& a, const SmallVector& b) noexcept {
    if (a.size_ != b.size_) return false;
    for (std::uint32_t i = 0; i < a.size_; ++i) {  // few elements: a call of memcmp would cost more
      if (!(a.data_[i] == b.data_[i])) return false;
    }
    return true;
  }

 private:
  T* inline_data() noexcept { return std::launder(reinterpret_cast<T*>(inline_)); }
  bool on_heap() const noexcept { return capacity_ > N; }
  void free_heap() noexcept {
    if (on_heap()) {
      std::allocator<T>().deallocate(data_, capacity_);
      data_ = inline_data();
      capacity_ = N;
    }
  }
  void take(SmallVector& other) noexcept {
    if (other.on_heap()) {
      data_ = std::exchange(other.data_, other.inline_data());
      size_ = std::exchange(other.size_, 0);
      capacity_ = std::exchange(other.capacity_, N);
    } else {
      if constexpr (std::is_trivially_copyable_v<T>) {
        for (std::uint32_t i = 0; i < other.size_; ++i)
          data_[i] = other.data_[i];  // few elements: a call of memcpy would cost more
      } else {
        std::uninitialized_move_n(other.data_, other.size_, data_);
      }
      size_ = other.size_;
      other.clear();
    }
  }
  [[gnu::noinline]] void grow(std::size_t count) {
    if (count > std::numeric_limits<std::uint32_t>::max()) throw std::bad_alloc();  // beyond the range of the counters
    T* fresh = std::allocator<T>().allocate(count);
    std::uninitialized_move_n(data_, size_, fresh);
    std::destroy_n(data_, size_);
    if (on_heap()) std::allocator<T>().deallocate(data_, capacity_);
    data_ = fresh;
    capacity_ = static_cast<std::uint32_t>(count);
  }

  T* data_;
  std::uint32_t size_ = 0;
  std::uint32_t capacity_ = N;
  alignas(T) std::byte inline_[N * sizeof(T)];
};

}  // namespace lamella
