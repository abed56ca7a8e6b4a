#include "ops/index/rows.h"

#include "ops/creation/creation.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/index/loops.h"
#include "ops/movement/cast.h"
#include "ops/shape/hide.h"
#include "ops/shape/reshape.h"
#include "ops/support/checks.h"
#include "ops/support/device_kernels.h"
#include "ops/support/dtypes.h"
#include "ops/support/hidden.h"
#include "ops/support/layer.h"

namespace lamella {
namespace {

constexpr std::int64_t kNear = std::int64_t{4} << 20;  // bytes assumed to fit into the L2 cache

/// Runs one of the loops of ops/index/loops.h between a matrix and its picked rows, both contiguous.
void run_rows(PickAction action, const Tensor& matrix, const Tensor& rows, const Tensor& picked) {
  const auto item = static_cast<std::int64_t>(item_size(matrix.dtype()));
  const std::int64_t width = matrix.shape()[1];
  run_picks(action, matrix.dtype(),
            {.data = matrix->data,
             .values = picked->data,
             .numbers = rows.data<std::int64_t>(),
             .count = rows.numel(),
             .step = width * item,
             .value_step = width * item,
             .far = matrix.numel() * item > kNear,
             .axes = {{width, item, item, 0}}});
}

Tensor gather_on_cpu(const Tensor& matrix, const Tensor& rows) {
  Tensor out = empty({rows.numel(), matrix.shape()[1]}, matrix.dtype());
  run_rows(PickAction::Read, matrix, rows, out);
  return out;
}

Tensor scatter_on_cpu(const Tensor& matrix, const Tensor& rows, std::int64_t count) {
  // Sums of low precision accumulate in float32 and are rounded once.
  if (is_half(matrix.dtype())) return cast(scatter_on_cpu(cast(matrix, DType::Float32), rows, count), matrix.dtype());
  Tensor out = zeros(Dims{count, matrix.shape()[1]}, matrix.dtype(), matrix.device());
  run_rows(PickAction::Add, out, rows, matrix);
  return out;
}

[[maybe_unused]] const bool kRegistered =
    register_kernel<&DeviceKernels::gather_rows>(DeviceType::CPU, gather_on_cpu) &&
    register_kernel<&DeviceKernels::scatter_rows>(DeviceType::CPU, scatter_on_cpu);

Tensor gather(const Tensor& x, const Tensor& rows) {
  if (x.device().is_meta() || rows.numel() * x.shape()[1] == 0)
    return empty({rows.numel(), x.shape()[1]}, x.dtype(), x.device());
  return device_kernel<&DeviceKernels::gather_rows>(x.device(), "index")(contiguous(x), rows);
}

Tensor scatter(const Tensor& x, const Tensor& rows, std::int64_t count) {
  if (x.device().is_meta() || x.numel() == 0) return zeros(Dims{count, x.shape()[1]}, x.dtype(), x.device());
  return device_kernel<&DeviceKernels::scatter_rows>(x.device(), "index")(contiguous(x), rows, count);
}

/// The matrices of all examples stacked as one, and row numbers into it; see Note [Batched tensors].
class ExampleRows {
 public:
  ExampleRows(const Tensor& x, const Tensor& rows) : axes_(hidden_axes(pointers(x, rows))) {
    for (const HiddenAxis& axis : axes_) examples_ *= axis.size;
  }

  std::int64_t count() const { return examples_; }
  Tensor matrix(const Tensor& x) const {
    return reshape(physical(x, axes_, 0, MissingAxis::Repeated), Dims{examples_ * x.shape()[0], x.shape()[1]});
  }
  /// Returns row numbers into the stacked matrix; `height` is the number of rows per example, or 0 if all share one
  /// matrix.
  Tensor rows(const Tensor& rows, std::int64_t height) const {
    const Tensor all = reshape(physical(rows, axes_, 0, MissingAxis::Repeated), Dims{examples_, rows.shape()[0]});
    if (height == 0) return contiguous(reshape(all, Dims{-1}));
    const Tensor first = arange(0, examples_, 1, DType::Int64, rows.device()) * height;
    return reshape(all + reshape(first, Dims{examples_, 1}), Dims{examples_ * rows.shape()[0]});
  }
  /// Hides the examples of the new tensor y, which has `height` rows per example.
  Tensor hidden(const Tensor& y, std::int64_t height) const {
    y->shape = with_axes(axes_, Dims{height, y.shape()[1]});
    y->strides = contiguous_strides(y->shape);
    return hide_in_place(y, axes_);
  }

 private:
  HiddenAxes axes_;
  std::int64_t examples_ = 1;
};

Tensor gather_examples(const Tensor& x, const Tensor& rows) {
  const ExampleRows examples(x, rows);
  // A matrix shared by all examples is not repeated.
  const bool own = is_batched(x);
  return examples.hidden(gather(own ? examples.matrix(x) : x, examples.rows(rows, own ? x.shape()[0] : 0)),
                         rows.shape()[0]);
}

Tensor scatter_examples(const Tensor& x, const Tensor& rows, std::int64_t count) {
  const ExampleRows examples(x, rows);
  return examples.hidden(scatter(examples.matrix(x), examples.rows(rows, count), examples.count() * count), count);
}

struct GatherFn : LinearOperatorLayer<GatherFn> {
  static constexpr std::string_view name = "gather_rows";

  static Tensor forward(Context& ctx, const Tensor& x, const Tensor& rows) {
    if (ctx.recording()) {
      ctx.save_for_backward(rows);
      ctx.state<Source>() = {x.shape()[0], x->hidden ? *x->hidden : HiddenAxes()};
    }
    return is_batched(x) || is_batched(rows) ? gather_examples(x, rows) : gather(x, rows);
  }
  static TensorList backward(Context& ctx, const Tensor& dy) {
    const Source& source = ctx.state<Source>();
    Tensor grads = dy;
    Tensor rows = ctx.saved_tensors<1>()[0];
    dead_axes_to_rows(grads, rows, &source.hidden);
    return {scatter_rows(grads, rows, source.rows), Tensor()};
  }

 private:
  struct Source {
    std::int64_t rows = 0;
    HiddenAxes hidden;
  };
};

struct ScatterFn : LinearOperatorLayer<ScatterFn> {
  static constexpr std::string_view name = "scatter_rows";

  static Tensor forward(Context& ctx, const Tensor& x, const Tensor& rows, std::int64_t count) {
    if (ctx.recording()) ctx.save_for_backward(rows);
    return is_batched(x) || is_batched(rows) ? scatter_examples(x, rows, count) : scatter(x, rows, count);
  }
  static TensorList backward(Context& ctx, const Tensor& dy) {
    return {gather_rows(dy, ctx.saved_tensors<1>()[0]), Tensor()};
  }
};

}  // namespace

Tensor gather_rows(const Tensor& x, const Tensor& rows) {
  check_same_device(x, rows, "index");
  return GatherFn::apply(x, rows);
}
Tensor scatter_rows(const Tensor& x, const Tensor& rows, std::int64_t count) {
  check_same_device(x, rows, "index");
  return ScatterFn::apply(x, rows, count);
}

}  // namespace lamella
