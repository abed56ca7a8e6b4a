#include "ops/scan/recurrence.h"

#include "engine/core/host.h"
#include "engine/runtime/parallel.h"
#include "ops/creation/creation.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/complex.h"
#include "ops/extension/extension.h"
#include "ops/movement/cast.h"
#include "ops/runtime/cpu_loader.h"
#include "ops/shape/join.h"
#include "ops/support/along.h"
#include "ops/support/checks.h"
#include "ops/support/device_kernels.h"
#include "ops/support/hidden.h"
#include "ops/support/layer.h"

namespace lamella {
namespace {

constexpr std::int64_t kColumnBlock = 1024;  // adjacent columns per task

/// Calls run(args, offset) for the parts of a contiguous tensor, on several threads; `offset` is in elements.
template <class F>
void for_each_part(const Along& along, F&& run) {
  const HostRelease release(along.outer * along.n * along.inner);
  const std::int64_t blocks = (along.inner + kColumnBlock - 1) / kColumnBlock;
  const std::int64_t work = along.n * std::min(along.inner, kColumnBlock);
  parallel_for(0, along.outer * blocks, std::max<std::int64_t>(1, kElementGrain / work),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; ++i) {
                   const std::int64_t column = i % blocks * kColumnBlock;
                   cpu::ScanArgs args;
                   args.n = along.n;
                   args.step = along.inner;
                   args.width = std::min(kColumnBlock, along.inner - column);
                   run(args, i / blocks * along.n * along.inner + column);
                 }
               });
}

Tensor run_recurrence(const Tensor& a, const Tensor& b, std::int64_t axis, bool reverse, const char* op) {
  if (is_batched(a) || is_batched(b)) [[unlikely]] {
    const HiddenAxes axes = hidden_axes(pointers(a, b));
    const auto whole = [&](const Tensor& x) { return physical(x, axes, 0, MissingAxis::Repeated); };
    return hide_in_place(run_recurrence(whole(a), whole(b), axis + static_cast<std::int64_t>(axes.size()), reverse, op),
                         axes);
  }
  const Tensor factor = contiguous(a);
  const Tensor added = contiguous(b);
  Tensor y = empty_like(added);
  if (y.device().is_meta() || y.numel() == 0) return y;
  if (has_device_kernel<&DeviceKernels::recurrence>(y.device())) {
    device_kernel<&DeviceKernels::recurrence>(y.device(), op)(factor, added, axis, reverse, y, op);
    return y;
  }
  if (!y.device().is_cpu()) {
    const auto run_there = [&](const Tensor& one, const Tensor& other) {
      return run_recurrence(one, other, axis, reverse, op);
    };
    return on_host(op, y.device(), run_there, a, b);
  }
  const auto kernel = require_kernel(cpu_kernels().scan.recurrence[static_cast<std::size_t>(b.dtype())], op, b.dtype());
  const auto item = static_cast<std::int64_t>(item_size(b.dtype()));
  for_each_part(Along(y.shape(), axis), [&](cpu::ScanArgs args, std::int64_t offset) {
    args.x = factor->data + offset * item;
    args.out = y->data + offset * item;
    args.reverse = reverse;
    kernel(args, added->data + offset * item);
  });
  return y;
}

struct RecurrenceFn : Function<RecurrenceFn> {
  static constexpr std::string_view name = "linear_recurrence";

  static Tensor forward(Context& ctx, const Tensor& a, const Tensor& b, std::int64_t axis, bool reverse,
                        const char* op) {
    Tensor y = run_recurrence(a, b, axis, reverse, op);
    save_with<Call>(ctx, {axis, reverse, op}, a, y);
    return y;
  }
  static TensorList backward(Context& ctx, const Tensor& dy) {
    const auto [a, y] = ctx.saved_tensors<2>();
    const auto [axis, reverse, op] = ctx.state<Call>();
    // The first element's factor does not count; shifted, it is at the end, where it does not count either.
    const Tensor db = linear_recurrence(shifted(conj(a), axis, 0, !reverse), dy, axis, !reverse, op);
    return {ctx.needs_input_grad(0) ? multiply(db, shifted(conj(y), axis, 0, reverse)) : Tensor(),
            ctx.needs_input_grad(1) ? db : Tensor()};
  }

 private:
  struct Call {
    std::int64_t axis = 0;
    bool reverse = false;
    const char* op = nullptr;
  };
};

}  // namespace

Tensor run_scan(cpu::Scan scan, const Tensor& x, std::int64_t axis, bool reverse, const char* op,
                const Tensor& extremes) {
  if (is_batched(x)) [[unlikely]] {
    const HiddenAxes axes = *x->hidden;
    return hide_in_place(run_scan(scan, physical(x, axes), axis + static_cast<std::int64_t>(axes.size()), reverse, op),
                         axes);
  }
  const Tensor from = contiguous(x);
  Tensor y = empty(x.shape(), cpu::scan_result(scan, x.dtype()), x.device());
  if (y.device().is_meta() || y.numel() == 0) return y;
  if (has_device_kernel<&DeviceKernels::scan>(y.device())) {
    device_kernel<&DeviceKernels::scan>(y.device(), op)(scan, from, axis, reverse, y, extremes, op);
    return y;
  }
  if (!y.device().is_cpu()) {
    return on_host(op, y.device(), [&](const Tensor& host) { return run_scan(scan, host, axis, reverse, op); }, x);
  }
  const auto kernel = require_kernel(
      cpu_kernels().scan.scan[static_cast<std::size_t>(scan)][static_cast<std::size_t>(x.dtype())], op, x.dtype());
  const auto run_part = [&](cpu::ScanArgs args, std::int64_t offset) {
    args.x = from->data + offset * static_cast<std::int64_t>(item_size(x.dtype()));
    args.out = y->data + offset * static_cast<std::int64_t>(item_size(y.dtype()));
    args.reverse = reverse;
    if (extremes.defined()) args.values = extremes->data + offset * static_cast<std::int64_t>(item_size(x.dtype()));
    kernel(args);
  };
  const Along along(y.shape(), axis);
  if (along.inner > 1) {
    for_each_part(along, run_part);
    return y;
  }
  const HostRelease release(y.numel());
  // A kernel sums rows of floats in vectors, one row at a time; other scans run several rows at once.
  const bool in_vectors = scan == cpu::Scan::Sum && !reverse && item_size(x.dtype()) >= 4 &&
                          (is_floating(x.dtype()) || is_complex(x.dtype()));
  const std::int64_t rows_at_once = in_vectors ? 1 : 4;
  const std::int64_t work = along.n * (scan == cpu::Scan::LogSumExp ? 16 : 1);  // an exp and a log per element
  parallel_for(0, along.outer, even_grain(along.outer, work, rows_at_once), [&](std::int64_t begin, std::int64_t end) {
    cpu::ScanArgs args;
    args.n = along.n;
    args.rows = end - begin;
    run_part(args, begin * along.n);
  });
  return y;
}

Tensor linear_recurrence(const Tensor& a, const Tensor& b, std::int64_t axis, bool reverse, const char* op) {
  return RecurrenceFn::apply(a, b, axis, reverse, op);
}

Tensor shifted(const Tensor& x, std::int64_t axis, double filling, bool reverse) {
  if (x.ndim() == 0) return full_like(x, filling);
  const std::int64_t n = x.shape()[static_cast<std::size_t>(axis)];
  if (n == 0) return x;
  Dims shape = x.shape();
  shape[static_cast<std::size_t>(axis)] = 1;
  const Tensor end = full(shape, filling, x.dtype(), x.device());
  return reverse ? concat({narrow(x, axis, 1, n - 1), end}, axis) : concat({end, narrow(x, axis, 0, n - 1)}, axis);
}

}  // namespace lamella
