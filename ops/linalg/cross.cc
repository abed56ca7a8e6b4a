#include "ops/linalg/cross.h"

#include "engine/autograd/graph/running_pass.h"
#include "engine/core/host.h"
#include "engine/runtime/parallel.h"
#include "ops/linalg/adjoint.h"
#include "ops/movement/cast.h"
#include "ops/reduce/sum.h"
#include "ops/shape/broadcast.h"
#include "ops/simd/complex.h"
#include "ops/simd/convert.h"
#include "ops/simd/lane.h"
#include "ops/support/hidden.h"
#include "ops/support/layer.h"

namespace lamella {
namespace {

constexpr std::int64_t kGrain = 8192;  // vectors per task

/// Convert an element to an operand of the formulas and back.
template <class T>
auto operand_of(T value) {
  if constexpr (kIsHalf<T>) {
    return simd::Lane<float>(static_cast<float>(value));
  } else {
    return typename simd::OperandOf<simd::Lane, T>::type(value);
  }
}
template <class T, class X>
T element_of(const X& x) {
  return convert<T>(x[0]);
}

/// Computes the cross products of the vectors from `begin` to `end`, whose elements are `step` apart.
template <class T>
void cross_products(const T* a, const T* b, T* y, std::int64_t step, std::int64_t begin, std::int64_t end) {
  std::int64_t block = begin / step;
  std::int64_t inner = begin % step;
  for (std::int64_t i = begin; i < end; ++i) {
    const std::int64_t at = block * 3 * step + inner;
    const auto a0 = operand_of(a[at]), a1 = operand_of(a[at + step]), a2 = operand_of(a[at + 2 * step]);
    const auto b0 = operand_of(b[at]), b1 = operand_of(b[at + step]), b2 = operand_of(b[at + 2 * step]);
    y[at] = element_of<T>(a1 * b2 - a2 * b1);
    y[at + step] = element_of<T>(a2 * b0 - a0 * b2);
    y[at + 2 * step] = element_of<T>(a0 * b1 - a1 * b0);
    if (++inner == step) {
      inner = 0;
      ++block;
    }
  }
}

struct CrossLayer : OperatorLayer<CrossLayer> {
  static constexpr bool kMultilinear = true;
  static constexpr std::string_view name = "cross";

  static Tensor forward(Context& ctx, const Tensor& x1, const Tensor& x2, std::int64_t axis) {
    save_with<std::int64_t>(ctx, axis, x1, x2);
    return product(x1, x2, axis);
  }
  static std::array<Tensor, 2> backward(Context& ctx, const Tensor& dy) {
    const auto [x1, x2] = ctx.saved_tensors<2>();
    const std::int64_t axis = ctx.state<std::int64_t>();
    const auto& edges = ctx.node()->edges();
    std::array<Tensor, 2> grads;
    if (autograd::is_needed(edges[0])) grads[0] = sum_to(apply(linalg::conjugate(x2), dy, axis), x1.shape());
    if (autograd::is_needed(edges[1])) grads[1] = sum_to(apply(dy, linalg::conjugate(x1), axis), x2.shape());
    return grads;
  }

 private:
  static Tensor product(const Tensor& x1, const Tensor& x2, std::int64_t axis) {
    if (is_batched(x1) || is_batched(x2)) [[unlikely]] {
      const HiddenAxes axes = hidden_axes(pointers(x1, x2));
      const std::size_t ndim = std::max(x1.ndim(), x2.ndim());
      return hide_in_place(product(physical(x1, axes, ndim), physical(x2, axes, ndim), axis), axes);
    }
    const Dims shape = broadcast_shapes(x1.shape(), x2.shape(), "cross");
    const Tensor y = empty(shape, x1.dtype(), x1.device());
    if (y.device().is_meta() || y.numel() == 0) return y;
    const Tensor a = contiguous(broadcast_to(x1, shape));
    const Tensor b = contiguous(broadcast_to(x2, shape));
    std::int64_t step = 1;
    for (std::int64_t i = axis + 1; i < 0; ++i) step *= y.size(i);
    const HostRelease release(y.numel());
    visit<Numeric>(y.dtype(), "cross", [&]<class T> {
      parallel_for(0, y.numel() / 3, kGrain, [&](std::int64_t begin, std::int64_t end) {
        cross_products(a.data<T>(), b.data<T>(), y.data<T>(), step, begin, end);
      });
    });
    return y;
  }
};

}  // namespace

Tensor cross_on_cpu(const Tensor& x1, const Tensor& x2, std::int64_t axis) {
  const DType dtype = promote_types(x1.dtype(), x2.dtype());
  return CrossLayer::apply(cast(x1, dtype), cast(x2, dtype), axis);
}

}  // namespace lamella
