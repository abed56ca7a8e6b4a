#include "ops/distributed/layers.h"

#include <string>
#include <vector>

#include "ops/creation/creation.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/complex.h"
#include "ops/elementwise/where.h"
#include "ops/movement/cast.h"
#include "ops/reduce/extremum.h"
#include "ops/reduce/sum.h"
#include "ops/shape/join.h"
#include "ops/shape/reshape.h"
#include "ops/support/layer.h"

namespace lamella::distributed {
namespace {

/// A linear operation. Its gradient is the transposed one.
struct LinearLayer : LinearOperatorLayer<LinearLayer> {
  static std::string name_of(const Context& ctx) {
    return std::string("distributed_") + static_cast<const char*>(ctx.tag);
  }

  static Tensor forward(Context& ctx, const Tensor& x, const Form& form) {
    ctx.tag = form.name();
    if (ctx.recording()) {
      ctx.state<Form>() = form;
      ctx.state<Form>().shape = x.shape();
      ctx.state<Form>().dtype = x.dtype();
    }
    return run(x, form);
  }
  static Tensor backward(Context& ctx, const Tensor& dy) {
    const Form& form = ctx.state<Form>();
    const Form transposed = form.transposed();
    // Shows where to put the gradient that comes; the sum keeps its place on the tape.
    if (form.pattern == Pattern::Send) return apply(zeros(form.shape, form.dtype, dy.device()) + dy, transposed);
    if (form.pattern == Pattern::Receive) {
      // The result, which holds the message's place on the tape, is 0.
      return zeros(form.shape, form.dtype, dy.device()) + apply(dy, transposed);
    }
    return apply(dy, transposed);
  }
};

Form sum_over(const Form& form) { return {.pattern = Pattern::AllReduce, .group = form.group}; }

/// The largest or smallest element of all processes. Those that have it share the gradient equally.
struct ExtremumLayer : OperatorLayer<ExtremumLayer> {
  static constexpr std::string_view name = "distributed_all_reduce";

  static Tensor forward(Context& ctx, const Tensor& x, const Form& form) {
    const Tensor y = run(x, form);
    save_with<Form>(ctx, form, x, y);
    return y;
  }
  static Tensor backward(Context& ctx, const Tensor& dy) {
    const auto [x, y] = ctx.saved_tensors<2>();
    const Form sum = sum_over(ctx.state<Form>());
    const Tensor has_it = x == y;
    const Tensor share = LinearLayer::apply(dy, sum) / LinearLayer::apply(cast(has_it, x.dtype()), sum);
    return where(has_it, share, zeros_like(share));
  }
};

/// Returns the tensors of all processes along a new axis 0.
Tensor stacked(const Tensor& x, const Form& form) {
  const Form gather{.pattern = Pattern::AllGather,
                    .axis = -static_cast<std::int64_t>(x.ndim()) - 1,
                    .sizes = Dims(static_cast<std::size_t>(form.group->size()), 1),
                    .group = form.group};
  return LinearLayer::apply(expand_dims(x, 0), gather);
}

/// The product over all processes. A process's gradient is the product of the others' elements, which is right where
/// one of them is 0, too.
struct ProductLayer : OperatorLayer<ProductLayer> {
  static constexpr std::string_view name = "distributed_all_reduce";

  static Tensor forward(Context& ctx, const Tensor& x, const Form& form) {
    save_with<Form>(ctx, form, x);
    return run(x, form);
  }
  static Tensor backward(Context& ctx, const Tensor& dy) {
    const auto [x] = ctx.saved_tensors<1>();
    const Form& form = ctx.state<Form>();
    const std::int64_t rank = form.group->rank();
    const Tensor all = stacked(x, form);
    const Tensor others = concat({narrow(all, 0, 0, rank), narrow(all, 0, rank + 1, form.group->size() - rank - 1)});
    const Tensor factor = prod(others, Dims{0}, false, x.dtype());
    return LinearLayer::apply(dy, sum_over(form)) * (is_complex(x.dtype()) ? conj(factor) : factor);
  }
};

/// Joins the parts that all processes have for this one by an operator along an axis of their own.
Tensor reduce_scatter_by_parts(const Tensor& x, const Form& form) {
  const auto parts = static_cast<std::size_t>(form.group->size());
  Form exchange = form;
  exchange.pattern = Pattern::AllToAll;
  exchange.joined_axis = form.axis;
  const std::int64_t own = form.sizes[static_cast<std::size_t>(form.group->rank())];
  exchange.received = Dims(parts, own);
  const Tensor all = LinearLayer::apply(x, exchange);
  const std::int64_t axis = static_cast<std::int64_t>(x.ndim()) + form.axis;
  Dims shape = all.shape();
  shape[static_cast<std::size_t>(axis)] = own;
  shape.insert(shape.begin() + axis, static_cast<std::int64_t>(parts));
  const Tensor blocks = reshape(all, shape);
  const bool is_bool = x.dtype() == DType::Bool;
  if (form.op == ReduceOp::Product) return prod(blocks, Dims{axis}, false, x.dtype());
  if (form.op == ReduceOp::Max) return is_bool ? Any::call(blocks, Dims{axis}, false) : max(blocks, axis);
  return is_bool ? All::call(blocks, Dims{axis}, false) : min(blocks, axis);
}

}  // namespace

Tensor apply(const Tensor& x, const Form& form) {
  const bool reduces =
      form.pattern == Pattern::AllReduce || form.pattern == Pattern::Reduce || form.pattern == Pattern::ReduceScatter;
  if (!reduces || form.op == ReduceOp::Sum) return LinearLayer::apply(x, form);
  if (form.pattern == Pattern::ReduceScatter) return reduce_scatter_by_parts(x, form);
  Form all = form;
  all.pattern = Pattern::AllReduce;
  Tensor y = form.op == ReduceOp::Product ? ProductLayer::apply(x, all) : ExtremumLayer::apply(x, all);
  if (form.pattern == Pattern::AllReduce || form.group->rank() == form.root) return y;
  return where(zeros({}, DType::Bool, y.device()), y, zeros_like(y));
}

}  // namespace lamella::distributed
