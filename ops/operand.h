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
  /// The tensor; only where this is not a number.
  const Tensor& tensor() const noexcept { return *tensor_; }
  /// The number; only where this is one.
  Scalar number() const noexcept { return number_; }

 private:
  const Tensor* tensor_ = nullptr;
  Scalar number_ = 0;
};

/// One of a list of tensors and numbers; unlike an Operand it holds its tensor.
class HeldOperand {
 public:
  HeldOperand(Tensor x) noexcept : tensor_(std::move(x)) {}
  HeldOperand(Scalar value) noexcept : number_(value) {}

  /// Valid as long as this is.
  Operand operand() const noexcept { return tensor_.defined() ? Operand(tensor_) : Operand(number_); }

 private:
  Tensor tensor_;
  Scalar number_ = 0;
};

/// A 0-d tensor on the CPU that holds `value` converted to `dtype`. Integers wrap; ValueError for one beyond int64
/// where `dtype` is another integer one than uint64, TypeError for a complex number where it is not complex.
Tensor number_tensor(Scalar value, DType dtype);

}  // namespace lamella
