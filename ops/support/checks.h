#pragma once

#include <optional>
#include <string_view>

#include "engine/core/error.h"
#include "engine/core/tensor.h"

namespace lamella {

/// The dtype that integers are converted to in functions of floating values.
inline constexpr DType kDefaultFloat = DType::Float32;

/// Returns the axes counted from the front and sorted; all axes if `axes` is empty. Throws IndexError if an axis is out
/// of range, ValueError if it is repeated.
Dims normalize_axes(const std::optional<Dims>& axes, std::size_t ndim, std::string_view op);

/// Throws ValueError if x is undefined.
void check_defined(const Tensor& x, std::string_view op);
/// Throws TypeError: `op` does not take `dtype`, but only `allowed`.
[[noreturn]] void refuse_dtype(DType dtype, DTypeSet allowed, std::string_view op);
/// Throws TypeError if `allowed` does not contain x's dtype.
void check_dtype(const Tensor& x, DTypeSet allowed, std::string_view op);
/// Throws RuntimeError if the devices differ.
void check_same_device(const Tensor& a, const Tensor& b, std::string_view op);
/// Throws NotImplementedError: `op` has no kernel for the device, or for the dtype.
[[noreturn]] void no_kernel(std::string_view op, Device device);
[[noreturn]] void no_kernel(std::string_view op, DType dtype, Device device);

/// Throws NotImplementedError, which lists the available kernels, unless falls_back_to_host(device).
void require_fallback(std::string_view op, Device device);

/// Returns `kernel`; throws NotImplementedError if it is null.
template <class Kernel>
Kernel require_kernel(Kernel kernel, std::string_view op, DType dtype, Device device = kCPU) {
  if (!kernel) no_kernel(op, dtype, device);
  return kernel;
}

}  // namespace lamella
