#pragma once

#include <utility>

#include "engine/core/tensor.h"

namespace lamella {

/// An argument that is a tensor or a number. A number takes part in type promotion by its kind only: 2 + x has x's
/// dtype.
class Operand {
 public:
  Operand(const Tensor& x) noexcept : tensor_(&x) {}
  Operand(Scalar value) noexcept : number_(value) {}
  template <class T>
    requires std::is_arithmetic_v<T>
  Operand(T value) noexcept : number_(value) {}

  bool is_number() const noexcept { return tensor_ == nullptr; }
  /// Returns the tensor; valid only if is_number() is false.
  const Tensor& tensor() const noexcept { return *tensor_; }
  /// Returns the number; valid only if is_number() is true.
  Scalar number() const noexcept { return number_; }

 private:
  const Tensor* tensor_ = nullptr;
  Scalar number_ = 0;
};

/// An element of a list of tensors and numbers. Unlike Operand, it owns its tensor.
class HeldOperand {
 public:
  HeldOperand(Tensor x) noexcept : tensor_(std::move(x)) {}
  HeldOperand(Scalar value) noexcept : number_(value) {}

  /// Returns a view of this; valid as long as this object.
  Operand operand() const noexcept { return tensor_.defined() ? Operand(tensor_) : Operand(number_); }

 private:
  Tensor tensor_;
  Scalar number_ = 0;
};

/// Returns a 0-d tensor on the CPU that holds `value` converted to `dtype`. Throws ValueError for an integer that does
/// not fit into `dtype`, if that is an integer dtype, and TypeError for a complex number if `dtype` is not complex.
/// A floating number beyond an integer dtype becomes the nearest number that it holds.
Tensor number_tensor(Scalar value, DType dtype);

}  // namespace lamella
