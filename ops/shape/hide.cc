#include "ops/shape/hide.h"

#include <algorithm>

#include "engine/autograd/graph/primitives.h"
#include "engine/core/thread_state.h"
#include "ops/shape/permute.h"
#include "ops/shape/reshape.h"
#include "ops/support/hidden.h"
#include "ops/support/layer.h"

namespace lamella {
namespace {

struct Hidden {
  std::uint64_t level = 0;
  std::int64_t size = 0;
  bool repeated = false;
};

struct HideFn : OperatorLayer<HideFn> {
  static constexpr std::string_view name = "hide_axis";

  static Tensor forward(Context& ctx, const Tensor& x, std::uint64_t level) {
    if (ctx.recording()) ctx.state<Hidden>() = {level, x.shape()[0]};
    Tensor y = make_view(x, DimsView(x.shape()).subspan(1), DimsView(x.strides()).subspan(1));
    if (!y->hidden) y->hidden = std::make_unique<HiddenAxes>();
    const auto at = std::ranges::lower_bound(*y->hidden, level, {}, &HiddenAxis::level);
    if (at != y->hidden->end() && at->level == level) {
      fail<RuntimeError>("[vmap] the tensor is batched by this call of vmap already");
    }
    y->hidden->insert(at, {level, x.shape()[0], x.strides()[0]});
    y->contiguous = false;
    return y;
  }
  static Tensor backward(Context& ctx, const Tensor& dy) {
    const Hidden& hidden = ctx.state<Hidden>();
    return show_axis(dy, hidden.level, hidden.size);
  }
  static Tensor jvp(Context& ctx, const Tensor& dx) { return hide_axis(dx, ctx.state<Hidden>().level); }
};

struct ShowFn : OperatorLayer<ShowFn> {
  static constexpr std::string_view name = "show_axis";

  static Tensor forward(Context& ctx, const Tensor& x, std::uint64_t level, std::int64_t size) {
    HiddenAxis axis{level, size, 0};
    HiddenAxes others;
    if (x->hidden) {
      for (const HiddenAxis& own : *x->hidden) {
        if (own.level == level) {
          axis = own;
        } else {
          others.push_back(own);
        }
      }
    }
    const bool repeated = !x->hidden || others.size() == x->hidden->size();
    if (ctx.recording()) ctx.state<Hidden>() = {level, axis.size, repeated};
    Dims shape = x.shape();
    Dims strides = x.strides();
    shape.insert(shape.begin(), axis.size);
    strides.insert(strides.begin(), axis.stride);
    Tensor y = make_view(x, shape, strides);
    if (others.empty()) {
      y->hidden.reset();
      y->contiguous = is_contiguous(shape, strides);
    } else {
      *y->hidden = others;
    }
    return y;
  }
  static Tensor backward(Context& ctx, const Tensor& dy) {
    const Hidden& hidden = ctx.state<Hidden>();
    // Within the call of vmap, a tensor that is the same for all examples has a gradient for each of them.
    const auto& levels = autograd::thread_state().batch_levels;
    const bool sums = hidden.repeated && std::ranges::find(levels, hidden.level) == levels.end();
    return sums ? autograd::primitives().sum_to(dy, DimsView(dy.shape()).subspan(1)) : hide_axis(dy, hidden.level);
  }
  static Tensor jvp(Context& ctx, const Tensor& dx) {
    const Hidden& hidden = ctx.state<Hidden>();
    return show_axis(dx, hidden.level, hidden.size);
  }
};

Tensor as_rows(const Tensor& x, const HiddenAxis& axis) {
  const Tensor shown = show_axis(x, axis.level, axis.size);
  Dims shape = x.shape();
  shape[0] *= axis.size;
  return reshape(shown, shape);
}

}  // namespace

Tensor hide_axis(const Tensor& x, std::uint64_t level) {
  if (x.ndim() == 0) fail<ValueError>("[vmap] a 0-d tensor has no axis to map over");
  return HideFn::apply(x, level);
}

Tensor hide_axis(const Tensor& x, std::int64_t axis, std::uint64_t level) {
  return hide_axis(move_axis(x, axis, 0, "vmap"), level);
}

Tensor show_axis(const Tensor& x, std::uint64_t level, std::int64_t size) { return ShowFn::apply(x, level, size); }

Tensor move_axis(const Tensor& x, std::int64_t from, std::int64_t to, const char* op) {
  const std::int64_t source = normalize_axis(from, x.ndim(), op);
  const std::int64_t target = normalize_axis(to, x.ndim(), op);
  if (source == target) return x;
  Dims order;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(x.ndim()); ++i) {
    if (i != source) order.push_back(i);
  }
  order.insert(order.begin() + target, source);
  return permute_dims(x, order);
}

void dead_axes_to_rows(Tensor& a, Tensor& b, const HiddenAxes* own) {
  if (!is_batched(a) && !is_batched(b)) return;
  const auto& live = autograd::thread_state().batch_levels;
  for (const HiddenAxis& axis : hidden_axes(pointers(a, b))) {
    if ((own && std::ranges::find(*own, axis.level, &HiddenAxis::level) != own->end()) ||
        std::ranges::find(live, axis.level) != live.end())
      continue;
    a = as_rows(a, axis);
    b = as_rows(b, axis);
  }
}

}  // namespace lamella
