#include "engine/autograd/graph/views.h"

#include <algorithm>
#include <mutex>

#include "engine/autograd/backward/hook_calls.h"
#include "engine/autograd/graph/primitives.h"
#include "engine/autograd/recording/aliases.h"
#include "engine/autograd/tangents/duals.h"
#include "engine/core/error.h"

namespace lamella::autograd {
namespace {

/// A part of a tensor, after the tensor was written to in place.
class ViewNode final : public Node {
 public:
  ViewNode(ViewGeometry geometry, Edge base) : geometry_(std::move(geometry)) { add_edge(std::move(base)); }
  std::string name() const override { return "view"; }
  TensorList run(TensorList grads) override {
    TensorList result;
    result.push_back(primitives().place_view(grads[0], geometry_));
    return result;
  }

 private:
  ViewGeometry geometry_;
};

/// A tensor of which a part was overwritten: its inputs are the tensor before and the part's new value.
class OverwriteNode final : public Node {
 public:
  OverwriteNode(ViewGeometry geometry, Edge before, Edge value) : geometry_(std::move(geometry)) {
    add_edge(std::move(before));
    add_edge(std::move(value));
  }
  std::string name() const override { return "overwrite"; }
  TensorList run(TensorList grads) override {
    TensorList result(2);
    if (edges()[0]) result[0] = primitives().clear_view(grads[0], geometry_);
    if (edges()[1]) result[1] = primitives().take_view(grads[0], geometry_);
    return result;
  }

 private:
  ViewGeometry geometry_;
};

HiddenAxes hidden_in_first_only(const Tensor& a, const Tensor& b) {
  HiddenAxes result;
  if (!a->hidden) return result;
  for (const HiddenAxis& axis : *a->hidden) {
    const auto same = [&](const HiddenAxis& other) { return other.level == axis.level; };
    if (!b->hidden || std::ranges::none_of(*b->hidden, same)) result.push_back(axis);
  }
  return result;
}

/// Describes complex numbers by their parts, as real numbers.
void take_apart(Dims& shape, Dims& strides) {
  for (std::int64_t& stride : strides) stride *= 2;
  shape.push_back(2);
  strides.push_back(1);
}

void put_in_front(const HiddenAxes& axes, Dims& shape, Dims& strides) {
  for (std::size_t i = axes.size(); i-- > 0;) {
    shape.insert(shape.begin(), axes[i].size);
    strides.insert(strides.begin(), axes[i].stride);
  }
}

/// Serializes what is rare: threads that find the same view out of date.
std::mutex& refresh_mutex() {
  static std::mutex mutex;
  return mutex;
}

/// Returns the node that x had: freeing it may run code of the host language, which must not happen under a lock.
Ref<Node> put_on_tape(const Tensor& x, Edge edge) {
  if (!edge && !peek_meta(x)) return {};
  AutogradMeta& meta = make_meta(x);
  meta.kept_output = false;
  meta.output_nr = edge.input_nr;
  std::swap(meta.grad_fn, edge.node);
  move_retained_grad(x);
  return std::move(edge.node);
}

}  // namespace

ViewGeometry::ViewGeometry(const Tensor& base, const Tensor& view)
    : base_shape(base.shape()), base_strides(base.strides()), shape(view.shape()), strides(view.strides()) {
  const std::size_t element = std::min(item_size(base.dtype()), item_size(view.dtype()));
  offset = (view->data - base->data) / static_cast<std::int64_t>(element);
  if (base->hidden || view->hidden) {
    base_hides = hidden_in_first_only(base, view);
    view_hides = hidden_in_first_only(view, base);
    put_in_front(base_hides, base_shape, base_strides);
    put_in_front(view_hides, shape, strides);
  }
  if (base.dtype() == view.dtype()) return;
  base_in_parts = is_complex(base.dtype());
  view_in_parts = !base_in_parts;
  if (base_in_parts) {
    take_apart(base_shape, base_strides);
  } else {
    take_apart(shape, strides);
  }
}

Tensor base_of(const Tensor& view) { return Tensor(Ref<TensorImpl>::share(view->base)); }

void track_view(const Tensor& x, const Tensor& view, bool always) {
  if ((!is_grad_enabled() && !always) || (view->flags & TensorImpl::kTracked)) return;
  TensorImpl* const base = x->flags & TensorImpl::kTracked ? x->base : x.impl();
  base->retain();
  view->base = base;
  view->history.store(view->storage->history.load(std::memory_order_acquire), std::memory_order_release);
  view->flags |= TensorImpl::kTracked;
  if (duals_active()) [[unlikely]]
    note_dual_writes(base_of(view), view);
}

void refresh_view(const Tensor& view) {
  const auto history_now = [&] { return view->storage->history.load(std::memory_order_acquire); };
  while (is_stale(view)) {
    // The node is made before the lock is taken: under trace() it asks for the host's stack, which may run the host's
    // code. Where a write comes between, the place is looked for again.
    const std::uint32_t history = history_now();
    const Tensor base = base_of(view);
    Edge edge = gradient_edge(base);
    if (edge) {
      edge = {Ref<Node>::adopt(new ViewNode(ViewGeometry(base, view), std::move(edge))), 0};
      edge.node->note_hidden_axes(0, view);
    }
    Ref<Node> before;
    const std::lock_guard lock(refresh_mutex());
    if (!is_stale(view) || history_now() != history) continue;
    before = put_on_tape(view, std::move(edge));
    view->history.store(history, std::memory_order_release);
  }
}

void rebase_history(const Tensor& x, Edge edge) {
  if (!(x->flags & TensorImpl::kTracked)) {
    put_on_tape(x, std::move(edge));
    x->storage->history.fetch_add(1, std::memory_order_acq_rel);
    if (!x->storage->unique()) note_holder(x);  // an alias may have left before x had a place
    return;
  }
  const Tensor base = base_of(x);
  Edge before = gradient_edge(base);
  if (before || edge) {
    edge = {Ref<Node>::adopt(new OverwriteNode(ViewGeometry(base, x), std::move(before), std::move(edge))), 0};
    edge.node->note_hidden_axes(0, base);
  }
  put_on_tape(base, std::move(edge));
  x->storage->history.fetch_add(1, std::memory_order_acq_rel);
  note_holder(base);
}

}  // namespace lamella::autograd
