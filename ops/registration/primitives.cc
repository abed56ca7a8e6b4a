#include "engine/autograd/graph/primitives.h"

#include "engine/core/modes.h"
#include "ops/creation/creation.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/in_place.h"
#include "ops/elementwise/launch.h"
#include "ops/elementwise/predicates.h"
#include "ops/movement/cast.h"
#include "ops/reduce/extremum.h"
#include "ops/reduce/sum.h"
#include "ops/shape/broadcast.h"
#include "ops/shape/hide.h"
#include "ops/shape/part.h"
#include "ops/support/hidden.h"

// Registers with the engine the functions that a backward pass computes with, when the library loads.

namespace lamella {
namespace {

/// Calls the kernel directly in the usual case: a backward pass adds gradients at every fork of the graph.
void add_in_place(const Tensor& a, const Tensor& b) {
  check_room(a, b, "backward");
  if (a.dtype() != b.dtype() || a.shape() != b.shape() || a.device() != b.device() || a->storage == b->storage) {
    const autograd::NoGrad no_grad;
    add_(a, b);
    return;
  }
  const Tensor* const operands[] = {&a, &b};
  launch_elementwise(elementwise_op<Add>(), -1, operands, a, a.dtype());
  a->storage->bump_version("backward", {});
}

std::int64_t count_true(const Tensor& mask) {
  return *to_device(sum(cast(mask, DType::Int64)), kCPU).data<std::int64_t>();
}

autograd::NonFinite count_nonfinite(const Tensor& x) {
  if (!is_differentiable(x.dtype()) || x.device().is_meta() || x.numel() == 0) return {};
  const autograd::NoGrad no_grad;
  // Checks all elements in one pass first; they are usually finite.
  if (*to_device(all(isfinite(x)), kCPU).data<bool>()) return {};
  return {.nan = count_true(isnan(x)), .inf = count_true(isinf(x))};
}

[[maybe_unused]] const bool registered = [] {
  autograd::primitives() = {
      .add = [](const Tensor& a, const Tensor& b) { return add(a, b); },
      .add_in_place = add_in_place,
      .full = [](DimsView shape, DType dtype, Device device,
                 double value) { return full(Dims(shape), value, dtype, device); },
      .cast = [](const Tensor& x, DType dtype) { return cast(x, dtype); },
      .to_device = [](const Tensor& x, Device device) { return to_device(x, device); },
      .sum_to = [](const Tensor& x, DimsView shape) { return sum_to(x, Dims(shape)); },
      .clone = [](const Tensor& x) { return clone(x); },
      .any_nonzero =
          [](const Tensor& x) {
            const autograd::NoGrad no_grad;
            return *to_device(any(x.detach()), kCPU).data<bool>();
          },
      .take_view = take_view,
      .place_view = place_view,
      .clear_view = clear_view,
      .hide_axis = hide_axis,
      .show_axis = show_axis,
      .sum_hidden = [](const Tensor& x, std::uint64_t level) { return sum(show_axis(x, level, 1), 0); },
      .count_nonfinite = count_nonfinite,
  };
  return true;
}();

}  // namespace
}  // namespace lamella
