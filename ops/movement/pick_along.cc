#include "ops/movement/pick_along.h"

#include <cstring>

#include "engine/core/host.h"
#include "engine/runtime/parallel.h"
#include "ops/extension/extension.h"
#include "ops/movement/cast.h"
#include "ops/support/along.h"
#include "ops/support/checks.h"
#include "ops/support/device_kernels.h"
#include "ops/support/hidden.h"
#include "ops/support/item_type.h"
#include "ops/support/layer.h"
#include "ops/support/strided.h"

namespace lamella {
namespace {

/// Calls f(x offset, position offset) for each run of `inner` neighbors, split over `outer`.
template <class F>
void for_each_outer(const Along& x, const Along& positions, F&& f) {
  const std::int64_t work = std::max<std::int64_t>(1, positions.n * positions.inner);
  const HostRelease release(positions.outer * work);
  parallel_for(0, positions.outer, std::max<std::int64_t>(1, kElementGrain / work),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t o = begin; o < end; ++o) f(o * x.n * x.inner, o * positions.n * positions.inner);
               });
}

/// Calls run() with the hidden axes of both tensors shown in both.
template <class Run>
Tensor with_examples(const Tensor& x, const Tensor& positions, std::int64_t axis, Run&& run) {
  const HiddenAxes axes = hidden_axes(pointers(x, positions));
  const auto whole = [&](const Tensor& t) { return physical(t, axes, 0, MissingAxis::Repeated); };
  return hide_in_place(run(whole(x), whole(positions), axis + static_cast<std::int64_t>(axes.size())), axes);
}

Tensor pick(const Tensor& x, const Tensor& positions, std::int64_t axis, const char* op) {
  if (is_batched(x) || is_batched(positions)) [[unlikely]] {
    return with_examples(x, positions, axis,
                         [op](const Tensor& a, const Tensor& b, std::int64_t at) { return pick(a, b, at, op); });
  }
  Tensor y = empty(positions.shape(), x.dtype(), x.device());
  if (y.device().is_meta() || y.numel() == 0) return y;
  if (has_device_kernel<&DeviceKernels::pick_along>(x.device())) {
    device_kernel<&DeviceKernels::pick_along>(x.device(), op)(contiguous(x), contiguous(positions), axis, y);
    return y;
  }
  if (!x.device().is_cpu()) {
    const auto pick_there = [&](const Tensor& a, const Tensor& b) { return pick(a, b, axis, op); };
    return on_host(op, x.device(), pick_there, x, positions);
  }
  const Tensor source = contiguous(x);
  const Tensor index = contiguous(positions);
  const Along from(x.shape(), axis);
  const Along to(positions.shape(), axis);
  visit_item(x.dtype(), [&]<class Item>() {
    for_each_outer(from, to, [&](std::int64_t x_offset, std::int64_t offset) {
      const Item* in = static_cast<const Item*>(source.raw_data()) + x_offset;
      Item* out = static_cast<Item*>(y.raw_data()) + offset;
      const auto* at = index.data<std::int64_t>() + offset;
      for (std::int64_t i = 0; i < to.n; ++i) {
        for (std::int64_t k = 0; k < to.inner; ++k) {
          out[i * to.inner + k] = in[at[i * to.inner + k] * to.inner + k];
        }
      }
    });
  });
  return y;
}

Tensor place(const Tensor& x, const Tensor& positions, std::int64_t axis, std::int64_t n, const char* op) {
  if (is_batched(x) || is_batched(positions)) [[unlikely]] {
    return with_examples(x, positions, axis,
                         [n, op](const Tensor& a, const Tensor& b, std::int64_t at) { return place(a, b, at, n, op); });
  }
  Dims shape = x.shape();
  if (x.ndim() > 0) shape[static_cast<std::size_t>(axis)] = n;
  if (has_device_kernel<&DeviceKernels::place_along>(x.device()) && x.numel() > 0) {
    return device_kernel<&DeviceKernels::place_along>(x.device(), op)(contiguous(x), contiguous(positions), axis,
                                                                      shape);
  }
  Tensor y = empty(shape, x.dtype(), x.device());
  write_value(y, 0, op);
  if (y.device().is_meta() || x.numel() == 0) return y;
  if (!x.device().is_cpu()) {
    const auto place_there = [&](const Tensor& a, const Tensor& b) { return place(a, b, axis, n, op); };
    return on_host(op, x.device(), place_there, x, positions);
  }
  const Tensor source = contiguous(x);
  const Tensor index = contiguous(positions);
  const Along from(x.shape(), axis);
  const Along to(shape, axis);
  visit<Differentiable>(x.dtype(), op, [&]<class T>() {
    for_each_outer(to, from, [&](std::int64_t y_offset, std::int64_t offset) {
      const T* in = source.data<T>() + offset;
      T* out = y.data<T>() + y_offset;
      const auto* at = index.data<std::int64_t>() + offset;
      for (std::int64_t i = 0; i < from.n; ++i) {
        for (std::int64_t k = 0; k < from.inner; ++k) {
          T& sum = out[at[i * from.inner + k] * from.inner + k];
          if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
            sum = T(static_cast<float>(sum) + static_cast<float>(in[i * from.inner + k]));
          } else {
            sum += in[i * from.inner + k];
          }
        }
      }
    });
  });
  return y;
}

struct Place {
  std::int64_t axis = 0;
  std::int64_t n = 0;
  const char* op = nullptr;
};

struct PickFn : Function<PickFn> {
  static constexpr bool kLinear = true;
  static constexpr std::string_view name = "pick_along";

  static Tensor forward(Context& ctx, const Tensor& x, const Tensor& positions, std::int64_t axis, const char* op) {
    save_with<Place>(ctx, {axis, x.ndim() == 0 ? 1 : x.shape()[static_cast<std::size_t>(axis)], op}, positions);
    return pick(x, positions, axis, op);
  }
  static TensorList backward(Context& ctx, const Tensor& dy) {
    const auto [axis, n, op] = ctx.state<Place>();
    return {place_along(dy, ctx.saved_tensors<1>()[0], axis, n, op), Tensor()};
  }
};

struct PlaceFn : Function<PlaceFn> {
  static constexpr bool kLinear = true;
  static constexpr std::string_view name = "place_along";

  static Tensor forward(Context& ctx, const Tensor& x, const Tensor& positions, std::int64_t axis, std::int64_t n,
                        const char* op) {
    save_with<Place>(ctx, {axis, n, op}, positions);
    return place(x, positions, axis, n, op);
  }
  static TensorList backward(Context& ctx, const Tensor& dy) {
    const auto [axis, n, op] = ctx.state<Place>();
    return {pick_along(dy, ctx.saved_tensors<1>()[0], axis, op), Tensor()};
  }
};

}  // namespace

Tensor pick_along(const Tensor& x, const Tensor& positions, std::int64_t axis, const char* op) {
  return PickFn::apply(x, positions, axis, op);
}
Tensor place_along(const Tensor& x, const Tensor& positions, std::int64_t axis, std::int64_t n, const char* op) {
  return PlaceFn::apply(x, positions, axis, n, op);
}

}  // namespace lamella
