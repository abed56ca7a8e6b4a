#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "engine/core/tensor.h"
#include "ops/reduce/cpu/table.h"
#include "ops/support/checks.h"

namespace lamella {

struct ElementwiseOp;
namespace random {
struct Fill;
}

/// The way into a device: what operators ask of it, whether it is the CPU, a CUDA device or one that an extension
/// brings. A member is null where the device has no such kernel.
struct DeviceKernels {
  /// Writes from's values into `to`, of the same shape: any strides, any dtypes. At least one of them lies on the
  /// device; the other one may lie on the CPU.
  void (*copy)(const Tensor& to, const Tensor& from) = nullptr;
  /// Sets every element of `to` to the one at `value`, in host memory.
  void (*fill)(const Tensor& to, const void* value) = nullptr;
  /// Computes `out = kernel(operands)` for kernel `wrt` of an operator (-1: forward); `dtype` is that of the inputs.
  /// Each operand broadcasts to out's shape; one of a single element may lie in host memory.
  void (*elementwise)(const ElementwiseOp& op, int wrt, std::span<const Tensor* const> operands, const Tensor& out,
                      DType dtype) = nullptr;
  /// Reduces `axes` of x, sorted and of at least one element in all, into the contiguous `out`, which has the other
  /// axes.
  void (*reduce)(cpu::Reduction reduction, const Tensor& x, const Dims& axes, const Tensor& out,
                 const char* op) = nullptr;
  /// out = a @ b for batches of matrices whose leading axes broadcast to those of `out`, which is contiguous. Returns
  /// true if `bias`, which may be undefined, has been added, too.
  bool (*matmul)(const Tensor& a, const Tensor& b, const Tensor& bias, const Tensor& out, const char* op) = nullptr;
  /// softmax of the contiguous x along an axis, which is the last one but on the CPU; or its logarithm.
  Tensor (*softmax)(const Tensor& x, std::size_t axis, bool log) = nullptr;
  /// Its gradient, of the result y and the gradient of that, both contiguous.
  Tensor (*softmax_gradient)(const Tensor& y, const Tensor& dy, std::size_t axis, bool log) = nullptr;
  /// Rows of a contiguous matrix by number: result[i] = matrix[rows[i]].
  Tensor (*gather_rows)(const Tensor& matrix, const Tensor& rows) = nullptr;
  /// A matrix of `count` rows, result[rows[i]] += matrix[i], summed in the order of i.
  Tensor (*scatter_rows)(const Tensor& matrix, const Tensor& rows, std::int64_t count) = nullptr;
  /// Fills the contiguous `out` with random numbers.
  void (*random)(const random::Fill& fill, const Tensor& out) = nullptr;
};

namespace detail {
extern DeviceKernels device_kernel_tables[kDeviceTypeCount];
}

/// Makes a function a kernel of a type of device. Called when the library loads, by the file that has the kernel; the
/// result is true, for the initializer of a constant there.
template <auto kMember, class Kernel>
bool register_kernel(DeviceType type, Kernel kernel) {
  detail::device_kernel_tables[static_cast<std::size_t>(type)].*kMember = kernel;
  return true;
}

/// A kernel of a device; NotImplementedError naming the operator and the device where it is missing.
template <auto kMember>
auto device_kernel(Device device, std::string_view op) {
  const auto kernel = detail::device_kernel_tables[static_cast<std::size_t>(device.type)].*kMember;
  if (!kernel) no_kernel(op, device);
  return kernel;
}

}  // namespace lamella
