#include "ops/nn/pool_layers.h"

#include <algorithm>

#include "engine/core/host.h"
#include "engine/runtime/parallel.h"
#include "ops/extension/extension.h"
#include "ops/movement/cast.h"
#include "ops/runtime/cpu_loader.h"
#include "ops/support/checks.h"
#include "ops/support/device_kernels.h"
#include "ops/support/hidden.h"
#include "ops/support/layer.h"
#include "ops/support/strided.h"

namespace lamella {
namespace {

constexpr cpu::PoolKernel (cpu::PoolKernels::* kHostKernels[])[kDTypeCount] = {
    &cpu::PoolKernels::max, &cpu::PoolKernels::sum, &cpu::PoolKernels::spread, &cpu::PoolKernels::pick,
    &cpu::PoolKernels::put};

Dims with_sizes(DimsView leading, const Dims& sizes) {
  Dims shape(leading.begin(), leading.end());
  for (const std::int64_t size : sizes) shape.push_back(size);
  return shape;
}

/// Runs a kernel from `from` to `to`; all axes but the spatial ones are planes.
void run(const PoolCall& call, const Tensor& given, const Tensor& to, const Tensor& places) {
  if (to.device().is_meta() || to.numel() == 0) return;
  const bool on_cpu = to.device().is_cpu();
  if (!on_cpu && !has_device_kernel<&DeviceKernels::pool>(to.device())) {
    require_fallback(call.op, to.device());
    const Tensor host = empty(to.shape(), to.dtype());
    const Tensor host_places = places.defined() ? empty(places.shape(), places.dtype()) : Tensor();
    if (places.defined()) write_values(host_places, places, call.op);
    run(call, moved(given, kCPU), host, host_places);
    if (places.defined()) write_values(places, host_places, call.op);
    return write_values(to, host, call.op);
  }
  if (given.numel() == 0) return write_value(to, 0, call.op);
  const Tensor from = contiguous(given);
  if (!on_cpu) return device_kernel<&DeviceKernels::pool>(to.device(), call.op)(call, from, to, places);
  const auto& kernels = cpu_kernels().pool.*kHostKernels[static_cast<std::size_t>(call.step)];
  const auto kernel = require_kernel(kernels[static_cast<std::size_t>(to.dtype())], call.op, to.dtype());
  cpu::PoolArgs args = call.plan.args();
  args.from = from.raw_data();
  args.to = to.raw_data();
  args.places = places.defined() ? places.data<std::int64_t>() : nullptr;
  const std::int64_t planes = count_elements(DimsView(to.shape()).first(to.ndim() - call.plan.axes()));
  const std::int64_t work = call.plan.plane_work();
  const HostRelease release(planes * work);
  parallel_for(0, planes, std::max<std::int64_t>(1, kElementGrain / work), [&](std::int64_t first, std::int64_t last) {
    cpu::PoolArgs part = args;
    part.first = first;
    part.last = last;
    kernel(part);
  });
}

/// Applies a linear map to planes; hidden axes are planes like the others.
Tensor map_planes(const PoolCall& call, const Tensor& x, const Tensor& places, const Dims& sizes) {
  const HiddenAxes axes = places.defined() ? hidden_axes(pointers(x, places)) : hidden_axes(pointers(x));
  const Tensor whole = axes.empty() ? x : physical(x, axes, 0, MissingAxis::Repeated);
  Tensor whole_places = places;
  if (places.defined()) {
    if (!axes.empty()) whole_places = physical(places, axes, 0, MissingAxis::Repeated);
    whole_places = contiguous(whole_places);
  }
  const Tensor y =
      empty(with_sizes(DimsView(whole.shape()).first(whole.ndim() - sizes.size()), sizes), x.dtype(), x.device());
  run(call, whole, y, whole_places);
  return hide_in_place(y, axes);
}

/// State that a pooling layer saves.
struct Memory {
  SharedPlan plan;
  const char* op = nullptr;
};

/// Base of pooling layers whose tag is their operator's name.
template <class Layer>
struct PoolLayer : OperatorLayer<Layer> {
  static std::string name_of(const Context& ctx) { return static_cast<const char*>(ctx.tag); }

 protected:
  static void remember(Context& ctx, const SharedPlan& plan, const char* op) {
    ctx.tag = op;
    if (ctx.recording()) ctx.state<Memory>() = {plan, op};
  }
};

/// Sums windows or, transposed, spreads elements over their windows.
template <bool kSums>
struct SumLayer : PoolLayer<SumLayer<kSums>> {
  static constexpr bool kLinear = true;
  static Tensor forward(Context& ctx, const Tensor& x, const SharedPlan& plan, const char* op) {
    SumLayer::remember(ctx, plan, op);
    return map_planes({*plan, op, kSums ? PoolStep::Sum : PoolStep::Spread}, x, {}, kSums ? plan->out() : plan->in());
  }
  static Tensor backward(Context& ctx, const Tensor& dy) {
    const Memory& memory = ctx.state<Memory>();
    return SumLayer<!kSums>::apply(dy, memory.plan, memory.op);
  }
};

/// Picks elements at places of windows or, transposed, puts elements to their places.
template <bool kPicks>
struct PickLayer : PoolLayer<PickLayer<kPicks>> {
  static constexpr bool kLinear = true;
  static Tensor forward(Context& ctx, const Tensor& x, const Tensor& places, const SharedPlan& plan, const char* op) {
    PickLayer::remember(ctx, plan, op);
    ctx.save_for_backward(places);
    return map_planes({*plan, op, kPicks ? PoolStep::Pick : PoolStep::Put}, x, places,
                      kPicks ? plan->out() : plan->in());
  }
  static std::array<Tensor, 2> backward(Context& ctx, const Tensor& dy) {
    const auto [places] = ctx.saved_tensors<1>();
    const Memory& memory = ctx.state<Memory>();
    return {PickLayer<!kPicks>::apply(dy, places, memory.plan, memory.op), Tensor()};
  }
};

/// The largest elements and, if wanted, their positions. dx is dy at the positions.
struct MaxLayer : PoolLayer<MaxLayer> {
  static TensorList forward(Context& ctx, const Tensor& x, const SharedPlan& plan, bool want_places, const char* op) {
    remember(ctx, plan, op);
    const HiddenAxes axes = hidden_axes(pointers(x));
    const Tensor whole = axes.empty() ? x : physical(x, axes);
    const Dims shape = with_sizes(DimsView(whole.shape()).first(whole.ndim() - plan->axes()), plan->out());
    const Tensor y = empty(shape, x.dtype(), x.device());
    Tensor places;
    if (want_places || ctx.recording()) places = empty(shape, DType::Int64, x.device());
    run({*plan, op, PoolStep::Max}, whole, y, places);
    TensorList results{hide_in_place(y, axes)};
    if (places.defined()) results.push_back(hide_in_place(places, axes));
    if (ctx.recording()) ctx.save_for_backward(results[1]);
    return results;
  }
  static Tensor backward(Context& ctx, const TensorList& grads) {
    const auto [places] = ctx.saved_tensors<1>();
    const Memory& memory = ctx.state<Memory>();
    return PickLayer<false>::apply(grads[0], places, memory.plan, memory.op);
  }
  static TensorList jvp(Context& ctx, const Tensor& dx) {
    const auto [places] = ctx.saved_tensors<1>();
    const Memory& memory = ctx.state<Memory>();
    return {PickLayer<true>::apply(dx, places, memory.plan, memory.op), Tensor()};
  }
};

}  // namespace

PoolPlan::PoolPlan(const std::vector<PoolWindows>& axes, bool tables) : given_(axes.size()) {
  std::ranges::copy(axes, windows_.end() - static_cast<std::ptrdiff_t>(given_));
  if (!tables) return;
  for (std::size_t i = 0; i < kAxes; ++i) {
    const PoolWindows& axis = windows_[i];
    for (std::int64_t o = 0; o < axis.out; ++o) {
      tables_[i].begin.push_back(axis.begin(o));
      tables_[i].end.push_back(axis.end(o));
      tables_[i].scale.push_back(axis.scale_of(axis.count(o)));
    }
  }
}

Dims PoolPlan::in() const {
  Dims sizes;
  for (std::size_t i = kAxes - given_; i < kAxes; ++i) sizes.push_back(windows_[i].in);
  return sizes;
}

Dims PoolPlan::out() const {
  Dims sizes;
  for (std::size_t i = kAxes - given_; i < kAxes; ++i) sizes.push_back(windows_[i].out);
  return sizes;
}

cpu::PoolArgs PoolPlan::args() const {
  cpu::PoolArgs args;
  for (std::size_t i = 0; i < kAxes; ++i) {
    const PoolWindows& axis = windows_[i];
    args.axes[i] = {.in = axis.in,
                    .out = axis.out,
                    .begin = tables_[i].begin.data(),
                    .end = tables_[i].end.data(),
                    .step = axis.step,
                    .scale = tables_[i].scale.data()};
  }
  return args;
}

std::int64_t PoolPlan::plane_work() const {
  std::int64_t in = 1;
  std::int64_t out = 1;
  for (const PoolWindows& axis : windows_) {
    in *= axis.in;
    out *= axis.out;
  }
  return std::max<std::int64_t>(1, in + out);
}

bool reads_tables(const Tensor& x) {
  return !x.device().is_meta() && x.shape()[0] != 0 && x.shape()[1] != 0 &&
         !has_device_kernel<&DeviceKernels::pool>(x.device());
}

std::array<Tensor, 2> pool_max(const Tensor& x, const SharedPlan& plan, bool places, const char* op) {
  TensorList results = MaxLayer::apply(x, plan, places, op);
  return {results[0], places ? results[1] : Tensor()};
}

Tensor pool_sum(const Tensor& x, const SharedPlan& plan, const char* op) { return SumLayer<true>::apply(x, plan, op); }

}  // namespace lamella
