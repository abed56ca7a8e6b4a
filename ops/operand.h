#pragma once

#include "engine/core/tensor.h"

namespace lamella {

/// An argument that is a tensor or a number. A number becomes a 0-d tensor that takes part in promotion by its kind only.
class Operand {
 public:
  Operand(const Tensor& x) noexcept : tensor_(&x) {}
  Operand(Scalar value);
  template <class T>
    requires std::is_arithmetic_v<T>
  Operand(T value) : Operand(Scalar(value)) {}
  Operand(const Operand&) = delete;
  Operand& operator=(const Operand&) = delete;

  const Tensor& tensor() const noexcept { return tensor_ ? *tensor_ : number_; }

 private:
  const Tensor* tensor_ = nullptr;
  Tensor number_;
};

}  // namespace lamella
