#include "ops/index/rows.h"

#include <array>
#include <cstring>

#include "engine/autograd/function.h"
#include "engine/core/host.h"
#include "engine/runtime/parallel.h"
#include "ops/creation/creation.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/movement/cast.h"
#include "ops/shape/reshape.h"
#include "ops/support/hidden.h"

namespace lamella {
namespace {

constexpr std::int64_t kGrain = 16384;  // elements that one thread takes at a time

std::array<RowKernels, kDeviceTypeCount> device_kernels{};

const RowKernels& kernels_of(Device device, const char* op) {
  const RowKernels& kernels = device_kernels[static_cast<std::size_t>(device.type)];
  if (!kernels.gather) fail<NotImplementedError>("[", op, "] has no kernel for device ", device);
  return kernels;
}

template <std::size_t kBytes>
void gather_small(const char* x, const std::int64_t* rows, std::int64_t begin, std::int64_t end, char* out) {
  for (std::int64_t i = begin; i < end; ++i)
    std::memcpy(out + i * static_cast<std::int64_t>(kBytes), x + rows[i] * static_cast<std::int64_t>(kBytes), kBytes);
}

void gather_cpu(const Tensor& x, const Tensor& rows, const Tensor& out) {
  const std::int64_t count = rows.numel();
  const std::int64_t width = x.shape()[1];
  const auto row_bytes = static_cast<std::int64_t>(item_size(x.dtype())) * width;
  const auto* from = static_cast<const char*>(x.raw_data());
  auto* to = static_cast<char*>(out.raw_data());
  const auto* row = rows.data<std::int64_t>();
  const HostRelease release(count * width);
  parallel_for(0, count, std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(1, width)),
               [&](std::int64_t begin, std::int64_t end) {
                 // A row of one element is the common case of picking elements: copies of known size need no call.
                 switch (row_bytes) {
                   case 4:
                     return gather_small<4>(from, row, begin, end, to);
                   case 8:
                     return gather_small<8>(from, row, begin, end, to);
                   default:
                     for (std::int64_t i = begin; i < end; ++i) {
                       std::memcpy(to + i * row_bytes, from + row[i] * row_bytes, static_cast<std::size_t>(row_bytes));
                     }
                 }
               });
}

void scatter_cpu(const Tensor& x, const Tensor& rows, const Tensor& out) {
  const std::int64_t count = rows.numel();
  const std::int64_t width = x.shape()[1];
  const auto* row = rows.data<std::int64_t>();
  const HostRelease release(count * width);
  visit<KernelDTypes - Boolean>(x.dtype(), "index", [&]<class T> {
    const T* from = x.data<T>();
    T* to = out.data<T>();
    // Threads share columns, not rows: each element is summed by one thread, in the order of the picks.
    parallel_for(0, width, std::max<std::int64_t>(64, kGrain / std::max<std::int64_t>(1, count)),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t i = 0; i < count; ++i) {
                     const T* source = from + i * width;
                     T* target = to + row[i] * width;
                     for (std::int64_t k = begin; k < end; ++k) target[k] += source[k];
                   }
                 });
  });
}

Tensor gather(const Tensor& x, const Tensor& rows) {
  const Tensor out = empty({rows.numel(), x.shape()[1]}, x.dtype(), x.device());
  if (out.device().is_meta() || out.numel() == 0) return out;
  const Tensor matrix = contiguous(x);
  if (out.device().is_cpu()) {
    gather_cpu(matrix, rows, out);
  } else {
    kernels_of(out.device(), "index")
        .gather(out.device(), x.dtype(), matrix.raw_data(), rows.data<std::int64_t>(), rows.numel(), x.shape()[1],
                out.raw_data());
  }
  return out;
}

Tensor scatter(const Tensor& x, const Tensor& rows, std::int64_t count) {
  const Tensor out = zeros(Dims{count, x.shape()[1]}, x.dtype(), x.device());
  if (out.device().is_meta() || x.numel() == 0) return out;
  const Tensor matrix = contiguous(x);
  if (out.device().is_cpu()) {
    scatter_cpu(matrix, rows, out);
  } else {
    kernels_of(out.device(), "index")
        .scatter(out.device(), x.dtype(), matrix.raw_data(), rows.data<std::int64_t>(), rows.numel(), x.shape()[1],
                 out.raw_data(), count);
  }
  return out;
}

/// The examples' matrices one below the other, and the rows' numbers in that matrix; see Note [Batched tensors].
class ExampleRows {
 public:
  ExampleRows(const Tensor& x, const Tensor& rows) : axes_(hidden_axes(pointers(x, rows))) {
    for (const HiddenAxis& axis : axes_) examples_ *= axis.size;
  }

  std::int64_t count() const { return examples_; }
  Tensor matrix(const Tensor& x) const {
    return reshape(physical(x, axes_, 0, MissingAxis::Repeated), Dims{examples_ * x.shape()[0], x.shape()[1]});
  }
  /// Where each example has `height` rows of its own.
  Tensor rows(const Tensor& rows, std::int64_t height) const {
    const Tensor all = reshape(physical(rows, axes_, 0, MissingAxis::Repeated), Dims{examples_, rows.shape()[0]});
    if (height == 0) return contiguous(reshape(all, Dims{-1}));
    const Tensor first = arange(0, examples_, 1, DType::Int64, rows.device()) * height;
    return reshape(all + reshape(first, Dims{examples_, 1}), Dims{examples_ * rows.shape()[0]});
  }
  /// `y`, new, with `height` rows for each example, with the examples hidden.
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
  // Where all examples look at one matrix it is not repeated.
  const bool own = is_batched(x);
  return examples.hidden(gather(own ? examples.matrix(x) : x, examples.rows(rows, own ? x.shape()[0] : 0)),
                         rows.shape()[0]);
}

Tensor scatter_examples(const Tensor& x, const Tensor& rows, std::int64_t count) {
  const ExampleRows examples(x, rows);
  return examples.hidden(scatter(examples.matrix(x), examples.rows(rows, count), examples.count() * count), count);
}

struct GatherFn : Function<GatherFn> {
  static constexpr bool kChecksGradients = false;
  static constexpr bool kLinear = true;
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

struct ScatterFn : Function<ScatterFn> {
  static constexpr bool kChecksGradients = false;
  static constexpr bool kLinear = true;
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

void register_row_kernels(DeviceType type, RowKernels kernels) {
  device_kernels[static_cast<std::size_t>(type)] = kernels;
}

Tensor gather_rows(const Tensor& x, const Tensor& rows) { return GatherFn::apply(x, rows); }
Tensor scatter_rows(const Tensor& x, const Tensor& rows, std::int64_t count) {
  return ScatterFn::apply(x, rows, count);
}

}  // namespace lamella
