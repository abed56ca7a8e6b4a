#include "ops/elementwise/parts.h"

#include "ops/elementwise/compare.h"
#include "ops/elementwise/slopes.h"
#include "ops/movement/cast.h"
#include "ops/shape/broadcast.h"
#include "ops/support/layer.h"

namespace lamella {
namespace {

/// a / y with y = hypot(a, b): its derivative by a is (b / y)^2 / y, and by b it is -(a / y) (b / y) / y.
struct Direction : OperatorLayer<Direction> {
  static constexpr std::string_view name = "hypot";

  static Tensor forward(Context& ctx, const Tensor& a, const Tensor& b) {
    if (ctx.recording()) ctx.save_for_backward(a, b);
    const DType dtype = a.dtype();
    const Tensor x = in_full_precision(a);
    const Tensor y = hypot(x, in_full_precision(b));
    const Tensor none = y == 0;
    const Tensor far = sign(x) * where(isinf(b), 0.70710678118654752440, 1.0);
    return cast(where(none, 0, where(isinf(x), far, x / where(none, 1, y))), dtype);
  }
  static std::array<Tensor, 2> slopes(Context& ctx) {
    const auto [a, b] = ctx.saved_tensors<2>();
    const Tensor p = apply(a, b);
    const Tensor q = apply(b, a);
    const Tensor y = hypot(a, b);
    const Tensor none = y == 0;
    const Tensor share = where(none, 0, q / where(none, 1, y));
    return {share * q, -share * p};
  }
  static std::array<Tensor, 2> backward(Context& ctx, const Tensor& dy) {
    const auto [by_a, by_b] = slopes(ctx);
    return {dy * by_a, dy * by_b};
  }
  static Tensor jvp(Context& ctx, const Tensor& da, const Tensor& db) { return along(slopes(ctx), da, db); }
};

}  // namespace

Tensor hypot_slope(const Tensor& a, const Tensor& b, const Tensor&) {
  const Dims shape = broadcast_shapes(a.shape(), b.shape(), "hypot");
  return Direction::apply(broadcast_to(a, shape), broadcast_to(b, shape));
}

}  // namespace lamella
