#pragma once

#include "engine/autograd/graph/running_pass.h"
#include "ops/movement/cast.h"
#include "ops/operand.h"
#include "ops/shape/broadcast.h"
#include "ops/support/hidden.h"
#include "ops/support/layer.h"
#include "ops/support/strided.h"

namespace lamella {

/// Copies x and writes values, of x's dtype, into a part of the copy that is a view. A Place has `Tensor of(x)`, that
/// part off the tape, and `Tensor part(x)`, which is recorded.
template <class Place>
struct InsertFn : LinearOperatorLayer<InsertFn<Place>> {
  static constexpr std::string_view name = "insert";

  static Tensor forward(Context& ctx, const Tensor& x, const Tensor& values, const Place* place) {
    if (ctx.recording()) ctx.state<Place>() = *place;
    const Tensor out = empty_beside(pointers(x, values), x.shape(), x.dtype(), x.device());
    write_values(out, x, "insert");
    write_values(place->of(out), values, "insert");
    return out;
  }
  static TensorList backward(Context& ctx, const Tensor& dy) {
    const Place& place = ctx.state<Place>();
    TensorList grads(2);
    if (autograd::is_needed(ctx.node()->edges()[0])) {
      const Tensor zero = to_device(number_tensor(0, dy.dtype()), dy.device());
      grads[0] = InsertFn::apply(dy, broadcast_to(zero, place.of(dy).shape()), &place);
    }
    if (autograd::is_needed(ctx.node()->edges()[1])) grads[1] = place.part(dy);
    return grads;
  }
};

}  // namespace lamella
