#pragma once

#include <optional>
#include <string_view>

#include "engine/core/error.h"
#include "engine/core/tensor.h"

namespace lamella {

/// The dtype of numbers that have none: what integers become in functions that need floating values.
inline constexpr DType kDefaultFloat = DType::Float32;

/// The axes counted from the front, sorted; all of them where `axes` is empty. IndexError where one is out of range,
/// ValueError where one is named twice.
Dims normalize_axes(const std::optional<Dims>& axes, std::size_t ndim, std::string_view op);

/// ValueError for an undefined tensor.
void check_defined(const Tensor& x, std::string_view op);
/// TypeError where `allowed` does not contain x's dtype.
void check_dtype(const Tensor& x, DTypeSet allowed, std::string_view op);
/// RuntimeError where the devices differ.
void check_same_device(const Tensor& a, const Tensor& b, std::string_view op);
/// NotImplementedError: `op` does not run there.
[[noreturn]] void no_kernel(std::string_view op, Device device);
[[noreturn]] void no_kernel(std::string_view op, DType dtype, Device device);

/// `kernel`, or NotImplementedError where it is null.
template <class Kernel>
Kernel require_kernel(Kernel kernel, std::string_view op, DType dtype, Device device = kCPU) {
  if (!kernel) no_kernel(op, dtype, device);
  return kernel;
}

/// x itself where it is floating, x as the default floating dtype where it is an integer or bool; TypeError for
/// complex.
Tensor as_floating(const Tensor& x, std::string_view op);
/// x itself where it is floating or complex, x as the default floating dtype where it is an integer or bool. x is
/// defined.
Tensor as_inexact(const Tensor& x);

}  // namespace lamella
