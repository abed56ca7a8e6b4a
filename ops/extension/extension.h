#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "engine/core/modes.h"
#include "engine/core/tensor.h"
#include "engine/core/tensors_in.h"
#include "engine/registry/value.h"
#include "ops/elementwise/elementwise.h"

// Operators on a device that an extension brings.
//
// Note [Operators of an extension's device]
// A built-in operator does there what it does anywhere: it promotes, broadcasts, allocates and records by itself, and
// asks for a kernel where it would call that of the CPU. The kernel is what is registered under the operator's name for
// DispatchKey::PrivateUse1; where there is none, the fallback that is registered for all operators there. Operators
// that work in parts of their own (a convolution, a sort) have no kernel to ask for: they run on copies in host memory
// where there is a fallback. So gradients, in-place forms and views are the same as elsewhere, and an extension that
// registers nothing but the fallback has every operator.

namespace lamella {

inline bool is_extension(Device device) noexcept { return device.type == DeviceType::PrivateUse1; }

/// Whether what has no kernel on `device` may run on the host: an extension's device, with a fallback.
bool falls_back_to_host(Device device) noexcept;
/// NotImplementedError, which says what there is, where it may not.
void require_fallback(std::string_view op, Device device);
/// The built-in operators that have a kernel of the extension's: "add, matmul".
std::string extension_kernel_names();

/// A contiguous copy on another device (x itself where it is there and contiguous already); not recorded.
Tensor moved(const Tensor& x, Device device);

/// f(xs on the host), with the tensors in its result brought back: what an operator without kernels on `device` does.
/// See require_fallback().
template <class F, class... Xs>
auto on_host(std::string_view op, Device device, F&& f, const Xs&... xs) {
  require_fallback(op, device);
  const autograd::NoGrad scope;
  auto result = f(moved(xs, kCPU)...);
  autograd::for_each_tensor(result, [device](Tensor& y) {
    if (y.defined()) y = moved(y, device);
  });
  return result;
}

namespace extension {

/// Runs the kernel that `op` has on the device, or the fallback, on these arguments; those that the schema has beyond
/// them get their defaults. The result has the shape and dtype that are given, or RuntimeError names the kernel.
/// Nothing where the operator has neither, or only the fallback to the host, which the caller knows a better way to.
std::optional<Tensor> call_kernel(std::string_view op, std::span<const registry::Arg> args, DimsView shape, DType dtype,
                                  Device device);

/// DeviceKernels::elementwise of the extension's device.
void launch(const ElementwiseOp& op, int wrt, std::span<const Tensor* const> operands, const Tensor& out, DType dtype);

}  // namespace extension
}  // namespace lamella
