#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

#include "c10/util/ArrayRef.h"

namespace c10 {

/// An element of a list, which may be assigned to.
template <class T>
class ListElementReference {
 public:
  explicit ListElementReference(typename std::vector<T>::reference element) : element_(element) {}
  operator T() const { return element_; }
  T get() const { return element_; }
  ListElementReference& operator=(T value) {
    element_ = std::move(value);
    return *this;
  }
  ListElementReference& operator=(const ListElementReference& other) { return *this = other.get(); }
  friend bool operator==(const ListElementReference& a, const T& b) { return a.get() == b; }

 private:
  typename std::vector<T>::reference element_;
};

/// A list of values of operators; copies share its elements, copy() does not.
template <class T>
class List {
  using Elements = std::vector<T>;

 public:
  using value_type = T;
  using size_type = std::size_t;
  using iterator = typename Elements::iterator;
  using const_iterator = iterator;

  List() : elements_(std::make_shared<Elements>()) {}
  List(std::initializer_list<T> values) : elements_(std::make_shared<Elements>(values)) {}
  explicit List(ArrayRef<T> values) : elements_(std::make_shared<Elements>(values.begin(), values.end())) {}
  explicit List(Elements values) : elements_(std::make_shared<Elements>(std::move(values))) {}

  // The list is a handle: a const one may be written through.
  iterator begin() const { return elements_->begin(); }
  iterator end() const { return elements_->end(); }
  bool empty() const { return elements_->empty(); }
  std::size_t size() const { return elements_->size(); }
  ListElementReference<T> operator[](std::size_t i) { return ListElementReference<T>((*elements_)[checked(i)]); }
  typename Elements::const_reference operator[](std::size_t i) const { return std::as_const(*elements_)[checked(i)]; }
  T get(std::size_t i) const { return (*elements_)[checked(i)]; }
  T extract(std::size_t i) const { return std::exchange((*elements_)[checked(i)], T()); }
  void set(std::size_t i, T value) const { (*elements_)[checked(i)] = std::move(value); }
  void push_back(T value) const { elements_->push_back(std::move(value)); }
  template <class... Args>
  void emplace_back(Args&&... args) const {
    elements_->emplace_back(std::forward<Args>(args)...);
  }
  void pop_back() const { elements_->pop_back(); }
  void append(const List& other) const {
    const Elements copied = *other.elements_;
    elements_->insert(elements_->end(), copied.begin(), copied.end());
  }
  void reserve(std::size_t count) const { elements_->reserve(count); }
  void resize(std::size_t count) const { elements_->resize(count); }
  void clear() const { elements_->clear(); }
  List copy() const { return List(*elements_); }
  const Elements& vec() const { return *elements_; }
  bool is(const List& other) const { return elements_ == other.elements_; }
  friend bool operator==(const List& a, const List& b) { return *a.elements_ == *b.elements_; }

 private:
  std::size_t checked(std::size_t i) const {
    if (i >= size()) lamella::fail<lamella::IndexError>("[List] index ", i, " of ", size(), " elements");
    return i;
  }
  std::shared_ptr<Elements> elements_;
};

}  // namespace c10
