#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <string>

#include "engine/core/device.h"
#include "engine/core/dtype.h"
#include "engine/core/ref.h"
#include "engine/core/shape.h"
#include "engine/core/storage.h"
#include "engine/core/tensor_impl.h"

namespace lamella {

class Node;
class Tensor;

/// A scalar argument of an operator: a Python bool, int, float or complex.
class Scalar {
 public:
  enum class Kind : std::uint8_t { Bool, Int, Float, Complex };

  template <class T>
    requires std::is_arithmetic_v<T>
  constexpr Scalar(T value)
      : kind_(std::is_same_v<T, bool> ? Kind::Bool
              : std::is_integral_v<T> ? Kind::Int
                                      : Kind::Float) {
    if constexpr (std::is_integral_v<T>) {
      integer_ = static_cast<std::int64_t>(value);
      if constexpr (std::is_same_v<T, std::uint64_t>) beyond_int64_ = integer_ < 0;
    } else {
      floating_ = static_cast<double>(value);
    }
  }
  constexpr Scalar(std::complex<double> value)
      : floating_(value.real()), imaginary_(value.imag()), kind_(Kind::Complex) {}

  constexpr Kind kind() const { return kind_; }
  /// True if this is an integer that fits into uint64 but not into int64.
  constexpr bool beyond_int64() const { return beyond_int64_; }
  /// Returns the imaginary part; 0 if the number is not complex.
  constexpr double imaginary() const { return imaginary_; }
  /// Returns the value, or its real part, converted to the number type T.
  template <class T>
  constexpr T to() const {
    if (kind_ == Kind::Float || kind_ == Kind::Complex) return static_cast<T>(floating_);
    return beyond_int64_ ? static_cast<T>(static_cast<std::uint64_t>(integer_)) : static_cast<T>(integer_);
  }

 private:
  union {
    std::int64_t integer_;
    double floating_;
  };
  double imaginary_ = 0;
  Kind kind_;
  bool beyond_int64_ = false;
};

/// An n-dimensional array on a device: a reference-counted handle, cheap to copy; a default-constructed one is
/// "undefined" and holds nothing.
///
/// Operators are free functions (`lamella::sum(x)`, `a + b`); the class knows data, shape and its place on the tape
/// (whose part is defined in engine/autograd/recording/tensor_members.cc).
class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(Ref<TensorImpl> impl) noexcept : impl_(std::move(impl)) {}

  bool defined() const noexcept { return static_cast<bool>(impl_); }
  explicit operator bool() const noexcept { return defined(); }
  TensorImpl* impl() const noexcept { return impl_.get(); }
  TensorImpl* operator->() const noexcept { return impl_.get(); }

  const Dims& shape() const noexcept { return impl_->shape; }
  /// Returns strides in elements.
  const Dims& strides() const noexcept { return impl_->strides; }
  std::size_t ndim() const noexcept { return impl_->shape.size(); }
  /// Returns the size along `axis`, which may count from the end; throws IndexError if there is no such axis.
  std::int64_t size(std::int64_t axis) const { return impl_->shape[normalize_axis(axis, ndim(), "size")]; }
  /// Returns the number of elements.
  std::int64_t numel() const noexcept { return impl_->elements; }
  std::size_t nbytes() const noexcept { return static_cast<std::size_t>(numel()) * item_size(dtype()); }
  DType dtype() const noexcept { return impl_->dtype; }
  Device device() const noexcept { return impl_->device; }
  bool is_contiguous() const noexcept { return impl_->contiguous; }
  std::uint32_t version() const noexcept { return impl_->storage ? impl_->storage->version() : 0; }

  /// Returns a pointer to the first element; null for meta tensors. Throws RuntimeError for a tensor batched by vmap,
  /// which shows one of several examples.
  void* raw_data() const {
    if (impl_->hidden) [[unlikely]]
      refuse_batched("raw_data");
    return impl_->data;
  }
  /// Returns a pointer to the first element as T; throws TypeError for another dtype, RuntimeError for a tensor batched
  /// by vmap.
  template <class T>
  T* data() const {
    if (impl_->hidden) [[unlikely]]
      refuse_batched("data");
    if (dtype_of<std::remove_const_t<T>> != dtype()) wrong_data_type(dtype_of<std::remove_const_t<T>>);
    return reinterpret_cast<T*>(impl_->data);
  }

  /// True if the tensor requires a gradient, or was computed from one that does.
  bool requires_grad() const;
  /// Sets whether a leaf requires a gradient. Throws RuntimeError when turned off for the result of a recorded
  /// operation, or for a dtype that has no gradient.
  const Tensor& set_requires_grad(bool value) const;
  /// Returns the negation of requires_grad().
  bool stop_gradient() const { return !requires_grad(); }
  const Tensor& set_stop_gradient(bool value) const { return set_requires_grad(!value); }
  /// True if the tensor was not computed by a recorded operation.
  bool is_leaf() const;
  /// Returns the accumulated gradient, or an undefined tensor. The result of a recorded operation has one only after
  /// retain_grad().
  Tensor grad() const;
  /// Replaces the gradient (undefined clears it); throws ValueError if its shape, dtype or device differs from the
  /// tensor's.
  void set_grad(Tensor grad) const;
  /// Returns the node that computed this tensor; null for a leaf.
  Ref<Node> grad_fn() const;
  /// Returns a tensor on the same data, off the tape.
  Tensor detach() const;

  bool same(const Tensor& other) const noexcept { return impl_ == other.impl_; }

  /// Throws RuntimeError: `what` needs a single value, and this tensor holds one per example of a call of vmap.
  [[noreturn]] void refuse_batched(const char* what) const;

 private:
  [[noreturn]] void wrong_data_type(DType asked) const;

  Ref<TensorImpl> impl_;
};

/// Gradients, in the order of a node's outputs or inputs; an undefined tensor stands for "no gradient".
using TensorList = SmallVector<Tensor, 2>;

/// Returns a new tensor with undefined contents. Throws OutOfMemoryError, and ValueError for a negative size.
Tensor empty(DimsView shape, DType dtype = DType::Float32, Device device = kCPU);
inline Tensor empty(std::initializer_list<std::int64_t> shape, DType dtype = DType::Float32, Device device = kCPU) {
  return empty(DimsView(shape.begin(), shape.size()), dtype, device);
}
/// Returns a new, contiguous tensor like `x`, with undefined contents.
inline Tensor empty_like(const Tensor& x) { return empty(x.shape(), x.dtype(), x.device()); }
/// Returns a tensor on memory of another owner; `deleter(context)`, which may be null, is called when it is no longer
/// needed. Strides are in elements.
Tensor from_memory(void* data, DimsView shape, DimsView strides, DType dtype, Device device, Storage::Deleter deleter,
                   void* context);
/// Returns another tensor on the same storage, off the tape; `offset` is in elements from x's first element. Bounds are
/// not checked.
Tensor make_view(const Tensor& x, DimsView shape, DimsView strides, std::int64_t offset = 0);
/// Returns another tensor with x's data, shape and strides, off the tape.
Tensor make_alias(const Tensor& x);
/// Records a write in place into x's memory by `op`, with the source line of the host language.
void mark_written(const Tensor& x, const char* op);

/// Registers a function that returns the current stream of a device, for device types whose streams the engine does not
/// know; null on the CPU.
using CurrentStream = void* (*)(Device);
void register_current_stream(DeviceType type, CurrentStream function);

/// Returns a text such as "float32[2, 3] on cpu", for messages.
std::string describe(const Tensor& x);
/// Returns a text such as "overwritten by add_ at model.py:3", on the last write into x's memory, for messages.
std::string describe_last_write(const Tensor& x);

namespace detail {
/// Returns another tensor on x's memory, with a storage of its own that is marked kLent and kLoaned; off the tape. See
/// Loan in listed.h.
Tensor lend_memory(const Tensor& x);
}  // namespace detail

}  // namespace lamella
