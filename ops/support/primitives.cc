#include "engine/autograd/primitives.h"

#include "engine/autograd/modes.h"
#include "ops/creation/creation.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/launch.h"
#include "ops/movement/cast.h"
#include "ops/movement/in_place.h"
#include "ops/shape/broadcast.h"
#include "ops/shape/hide.h"
#include "ops/shape/part.h"
#include "ops/support/hidden.h"

// What the engine itself computes in a backward pass is handed to it when the library loads.

namespace lamella {
namespace {

/// The usual case goes straight to the kernel: a backward pass adds gradients at every fork of the graph.
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

[[maybe_unused]] const bool registered = [] {
  autograd::primitives() = {
      .add = [](const Tensor& a, const Tensor& b) { return add(a, b); },
      .add_in_place = add_in_place,
      .full = [](DimsView shape, DType dtype, Device device,
                 double value) { return full(Dims(shape), value, dtype, device); },
      .cast = [](const Tensor& x, DType dtype) { return cast(x, dtype); },
      .sum_to = [](const Tensor& x, DimsView shape) { return sum_to(x, Dims(shape)); },
      .clone = [](const Tensor& x) { return clone(x); },
      .take_view = take_view,
      .place_view = place_view,
      .clear_view = clear_view,
      .hide_axis = hide_axis,
      .show_axis = show_axis,
      .sum_hidden = sum_hidden,
  };
  return true;
}();

}  // namespace
}  // namespace lamella
