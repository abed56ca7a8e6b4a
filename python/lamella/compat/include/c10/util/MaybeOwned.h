#pragma once

#include <optional>
#include <utility>

namespace c10 {

/// A value, or a reference to one of another owner, which lives longer.
template <class T>
class MaybeOwned {
 public:
  MaybeOwned() : own_(T()) {}
  static MaybeOwned borrowed(const T& value) { return MaybeOwned(&value, std::nullopt); }
  static MaybeOwned owned(T value) { return MaybeOwned(nullptr, std::move(value)); }

  bool unsafeIsBorrowed() const { return borrowed_ != nullptr; }
  const T& operator*() const& { return borrowed_ ? *borrowed_ : *own_; }
  T operator*() && { return borrowed_ ? *borrowed_ : std::move(*own_); }
  const T* operator->() const { return &**this; }

 private:
  MaybeOwned(const T* borrowed, std::optional<T> own) : borrowed_(borrowed), own_(std::move(own)) {}
  const T* borrowed_ = nullptr;
  std::optional<T> own_;
};

}  // namespace c10
