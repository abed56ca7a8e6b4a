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
#include "ops/support/checks.h"
#include "ops/support/extension_device.h"

// Operators on a device of an extension.
//
// Note [Operators of an extension's device]
// A built-in operator promotes, broadcasts, allocates and records as on any device, and looks up a kernel where it
// would call that of the CPU. The kernel is the one registered under the operator's name for DispatchKey::PrivateUse1
// or, without one, the fallback registered for all operators. Operators composed of internal parts (a convolution, a
// sort) have no such kernel; with a fallback they run on copies in host memory. So gradients, in-place forms and views
// work as on other devices, and an extension that registers nothing but the fallback has every operator.

namespace lamella {

/// Returns a contiguous copy of x on another device, or x itself if it is there and contiguous; not recorded.
Tensor moved(const Tensor& x, Device device);

/// Returns f(xs moved to the host), with the tensors of its result moved back: the way of an operator without kernels
/// on `device`. Throws as require_fallback() does.
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

}  // namespace lamella
