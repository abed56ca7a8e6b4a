#pragma once

#include <memory>
#include <utility>

namespace c10 {

/// Base of objects that intrusive_ptr holds.
class intrusive_ptr_target {
 public:
  virtual ~intrusive_ptr_target() = default;
};

/// A pointer that shares its object with its copies.
template <class T>
class intrusive_ptr : public std::shared_ptr<T> {
 public:
  using std::shared_ptr<T>::shared_ptr;
  intrusive_ptr(std::shared_ptr<T> other) : std::shared_ptr<T>(std::move(other)) {}
  template <class... Args>
  static intrusive_ptr make(Args&&... args) {
    return std::make_shared<T>(std::forward<Args>(args)...);
  }
  bool defined() const noexcept { return this->get() != nullptr; }
};

template <class T, class... Args>
intrusive_ptr<T> make_intrusive(Args&&... args) {
  return intrusive_ptr<T>::make(std::forward<Args>(args)...);
}

}  // namespace c10
