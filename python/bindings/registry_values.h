#pragma once

#include <Python.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "engine/core/small_vector.h"
#include "engine/registry/type.h"
#include "engine/registry/value.h"
#include "python/bindings/py_ref.h"

namespace lamella::python {

/// Storage for the views of a call's arguments: lists and numbers that the Python objects do not hold themselves. A
/// small amount is inline, so that an ordinary call allocates nothing.
class CallStorage {
 public:
  CallStorage() = default;
  ~CallStorage() { clear(); }
  CallStorage(const CallStorage&) = delete;
  CallStorage& operator=(const CallStorage&) = delete;

  /// Returns uninitialized memory for `count` objects of a type that needs no destructor.
  template <class T>
  T* make(std::size_t count) {
    static_assert(std::is_trivially_destructible_v<T> && alignof(T) <= 8);
    return static_cast<T*>(take(count * sizeof(T)));
  }
  /// Returns `count` undefined tensors.
  Tensor* make_tensors(std::size_t count);

 private:
  void* take(std::size_t bytes) {
    bytes = (bytes + 7) & ~std::size_t{7};
    if (used_ + bytes > sizeof inline_) return take_heap(bytes);
    void* const at = inline_ + used_;
    used_ += bytes;
    return at;
  }
  void* take_heap(std::size_t bytes);
  void clear() noexcept {
    for (const auto& [first, count] : tensors_) std::destroy_n(first, count);
  }

  alignas(8) std::byte inline_[256];
  std::size_t used_ = 0;
  SmallVector<std::pair<Tensor*, std::size_t>, 2> tensors_;
  std::vector<std::unique_ptr<std::byte[]>> heap_;
};

/// Names a value in messages: "[ns::op] size".
struct ValuePlace {
  const std::string& op;
  const std::string& name;

  std::string str() const { return "[" + op + "] " + name; }
};

/// Reads a Python object as a value of the type. TypeError or ValueError that names the place if it does not fit. The
/// view is valid as long as the object and the storage.
registry::Arg read_value(PyObject* object, const registry::Type& type, const ValuePlace& place, CallStorage& storage);

/// Converts a value to a Python object. Tensors come back as the objects that they have.
PyRef value_to_python(const registry::Arg& value);
/// Converts a result, which is moved from, to a Python object.
PyRef value_to_python(registry::Value value);

}  // namespace lamella::python
