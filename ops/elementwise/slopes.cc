#include "ops/elementwise/slopes.h"

#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/clip.h"
#include "ops/movement/cast.h"
#include "ops/support/dtypes.h"
#include "ops/support/layer.h"

namespace lamella {
namespace {

struct Order {
  const SlopeChain* chain = nullptr;
  int order = 1;
  bool in_double = false;

  Tensor at(const Tensor& x) const {
    const Tensor wide = in_double && x.dtype() == DType::Float32 ? cast(x, DType::Float64) : in_full_precision(x);
    return cast(chain->orders[order - 1](wide), x.dtype());
  }
};

struct SlopeLayer : OperatorLayer<SlopeLayer> {
  static std::string name_of(const Context& ctx) { return static_cast<const SlopeChain*>(ctx.tag)->name; }

  static Tensor forward(Context& ctx, const Tensor& x, const Order& order) {
    ctx.tag = order.chain;
    save_with<Order>(ctx, order, x);
    return order.at(x);
  }
  static Tensor backward(Context& ctx, const Tensor& dy) {
    const auto [x] = ctx.saved_tensors<1>();
    const Order& order = ctx.state<Order>();
    return dy * slope(*order.chain, x, order.order + 1, order.in_double);
  }
  static Tensor jvp(Context& ctx, const Tensor& dx) { return backward(ctx, dx); }
};

}  // namespace

Tensor in_full_precision(const Tensor& x) { return is_half(x.dtype()) ? cast(x, DType::Float32) : x; }

Tensor slope(const SlopeChain& chain, const Tensor& x, int order, bool in_double) {
  const Order at{&chain, order, in_double};
  // Orders beyond the last formula are derived from that formula.
  return order < SlopeChain::kOrders ? SlopeLayer::apply(x, at) : at.at(x);
}

Tensor along(const std::array<Tensor, 2>& slopes, const Tensor& da, const Tensor& db) {
  if (!da.defined()) return db * slopes[1];
  const Tensor part = da * slopes[0];
  return db.defined() ? part + db * slopes[1] : part;
}

Tensor limited(const Tensor& x, double bound) { return clip(x, Scalar(-bound), Scalar(bound)); }

}  // namespace lamella
