#pragma once

#include <cstdint>
#include <string_view>

#include "engine/core/tensor.h"
#include "ops/reduce/cpu/table.h"
#include "ops/support/checks.h"

namespace lamella {

/// What the runtime of a device other than the CPU brings for the operators that are not elementwise. Null where it has
/// none.
struct DeviceKernels {
  /// Writes from's values into `to`, of the same shape: any strides, any dtypes; one of them may lie on the CPU.
  void (*copy)(const Tensor& to, const Tensor& from) = nullptr;
  /// Sets every element of `to` to the one at `value`, in host memory.
  void (*fill)(const Tensor& to, const void* value) = nullptr;
  /// Reduces `axes` of x, sorted and at least one element in all, into the contiguous `out`, which has the other axes.
  void (*reduce)(cpu::Reduction reduction, const Tensor& x, const Dims& axes, const Tensor& out) = nullptr;
  /// out = a @ b for batches of matrices: all have the same leading axes, `out` is contiguous.
  void (*matmul)(const Tensor& a, const Tensor& b, const Tensor& out) = nullptr;
};

/// Called by a device's runtime when it loads. `kernels` is kept.
void register_device_kernels(DeviceType type, const DeviceKernels* kernels);
/// The device's kernels; an empty table where it brought none.
const DeviceKernels& device_kernels(Device device);

/// One of them; NotImplementedError naming the operator and the device where it is missing.
template <auto kMember>
auto device_kernel(Device device, std::string_view op) {
  const auto kernel = device_kernels(device).*kMember;
  if (!kernel) no_kernel(op, device);
  return kernel;
}

}  // namespace lamella
