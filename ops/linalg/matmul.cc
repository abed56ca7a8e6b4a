#include "ops/linalg/matmul.h"

#include "engine/autograd/graph/running_pass.h"
#include "ops/linalg/adjoint.h"
#include "ops/linalg/gemm.h"
#include "ops/movement/cast.h"
#include "ops/reduce/sum.h"
#include "ops/shape/broadcast.h"
#include "ops/shape/hide.h"
#include "ops/shape/reshape.h"
#include "ops/support/autocast.h"
#include "ops/support/checks.h"
#include "ops/support/hidden.h"
#include "ops/support/layer.h"

namespace lamella {
namespace {

Tensor product(const Tensor& a, const Tensor& b);

/// Returns the product of the physical tensors; see Note [Batched tensors].
Tensor batched_product(const Tensor& a, const Tensor& b) {
  const HiddenAxes axes = hidden_axes(pointers(a, b));
  if (b.ndim() == 2 && !is_batched(b)) {
    // A shared matrix gives one product with the rows of all examples.
    const Tensor rows = physical(a, axes);
    Dims shape = rows.shape();
    shape.back() = b.shape()[1];
    const Tensor out = empty(shape, a.dtype(), a.device());
    const std::int64_t count = count_elements(DimsView(shape).first(shape.size() - 1));
    const Dims flat{count, shape.back()};
    write_product(reshape(rows, {count, a.shape().back()}), b, Tensor(), make_view(out, flat, contiguous_strides(flat)),
                  "matmul");
    return hide_in_place(out, axes);
  }
  const std::size_t ndim = std::max(a.ndim(), b.ndim());
  return hide_in_place(product(physical(a, axes, ndim), physical(b, axes, ndim)), axes);
}

Tensor product(const Tensor& a, const Tensor& b) {
  if (is_batched(a) || is_batched(b)) [[unlikely]]
    return batched_product(a, b);
  Dims shape = a.shape();
  if (a.ndim() > 2 || b.ndim() > 2) {
    const auto leading = [](const Tensor& x) { return DimsView(x.shape().data(), x.ndim() - 2); };
    shape = broadcast_shapes(leading(a), leading(b), "matmul");
    shape.push_back(a.size(-2));
    shape.push_back(0);
  }
  shape.back() = b.shape().back();
  Tensor out = empty(shape, a.dtype(), a.device());
  write_product(a, b, Tensor(), out, "matmul");
  return out;
}

/// Matrix product of operands with at least two axes, one dtype and equal inner sizes.
struct MatmulLayer : OperatorLayer<MatmulLayer> {
  static constexpr bool kMultilinear = true;
  static constexpr std::string_view name = "matmul";

  static Tensor forward(Context& ctx, const Tensor& a, const Tensor& b) {
    Tensor out = product(a, b);
    if (ctx.recording()) ctx.save_for_backward(a, b);
    return out;
  }
  static std::array<Tensor, 2> backward(Context& ctx, const Tensor& dy) {
    const auto [a, b] = ctx.saved_tensors<2>();
    const auto& edges = ctx.node()->edges();
    std::array<Tensor, 2> grads;
    if (autograd::is_needed(edges[0])) grads[0] = sum_to(apply(dy, linalg::adjoint(b)), a.shape());
    if (autograd::is_needed(edges[1])) {
      Tensor rows = a;
      Tensor row_grads = dy;
      if (a.ndim() == 2 && b.ndim() == 2) dead_axes_to_rows(rows, row_grads, b->hidden.get());
      grads[1] = sum_to(apply(linalg::adjoint(rows), row_grads), b.shape());
    }
    return grads;
  }
};

}  // namespace

Tensor Matmul::call(const Tensor& a, const Tensor& b) {
  if (autograd::autocast_active()) [[unlikely]]
    return call_in_autocast<Matmul>(a, b);
  check_defined(a, info.name);
  check_defined(b, info.name);
  check_dtype(a, Numeric, info.name);
  check_dtype(b, Numeric, info.name);
  check_same_device(a, b, info.name);
  if (a.ndim() == 0 || b.ndim() == 0) {
    fail<ValueError>("[matmul] needs at least one axis on each side (a: ", a.shape(), ", b: ", b.shape(), ")");
  }
  const std::int64_t inner = b.shape()[b.ndim() == 1 ? 0 : b.ndim() - 2];
  if (a.shape().back() != inner) {
    fail<ValueError>("[matmul] inner sizes ", a.shape().back(), " and ", inner, " differ (a: ", a.shape(),
                     ", b: ", b.shape(), ")");
  }
  const DType dtype = promote_types(a.dtype(), b.dtype());
  if (a.dtype() != dtype || b.dtype() != dtype) return call(cast(a, dtype), cast(b, dtype));
  if (a.ndim() == 1) return squeeze(call(expand_dims(a, 0), b), b.ndim() == 1 ? 0 : -2);
  if (b.ndim() == 1) return squeeze(call(a, expand_dims(b, 1)), -1);
  if (a.ndim() > 2 && b.ndim() == 2 && a.numel() > 0) {
    // One product with the rows of all matrices; its gradient for b is a single product as well.
    Dims shape = a.shape();
    shape.back() = b.shape()[1];
    return reshape(MatmulLayer::apply(reshape(a, {-1, inner}), b), shape);
  }
  return MatmulLayer::apply(a, b);
}

}  // namespace lamella
