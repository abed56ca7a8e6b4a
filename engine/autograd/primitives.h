#pragma once

#include "engine/core/tensor.h"

namespace lamella::autograd {

/// The few operations that a backward pass itself performs. The operator layer registers them: the engine names no
/// operator.
struct Primitives {
  /// a + b, recorded where recording is on.
  Tensor (*add)(const Tensor& a, const Tensor& b) = nullptr;
  /// a += b, never recorded.
  void (*add_in_place)(const Tensor& a, const Tensor& b) = nullptr;
  /// A new tensor filled with `value`.
  Tensor (*full)(DimsView shape, DType dtype, Device device, double value) = nullptr;
  /// A copy in `dtype`, recorded.
  Tensor (*cast)(const Tensor& x, DType dtype) = nullptr;
  /// x summed over the axes along which `shape` was broadcast to x's shape, recorded.
  Tensor (*sum_to)(const Tensor& x, DimsView shape) = nullptr;
  /// A contiguous copy, recorded.
  Tensor (*clone)(const Tensor& x) = nullptr;
};

Primitives& primitives();

}  // namespace lamella::autograd
