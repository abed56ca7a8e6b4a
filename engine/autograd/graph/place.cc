#include "engine/autograd/graph/place.h"

#include <mutex>

#include "engine/autograd/graph/accumulate.h"
#include "engine/autograd/graph/holders.h"
#include "engine/autograd/graph/primitives.h"
#include "engine/autograd/graph/retained_grad.h"
#include "engine/autograd/graph/view_geometry.h"
#include "engine/core/error.h"
#include "engine/core/modes.h"

namespace lamella::autograd {
namespace {

/// Node of a tracked view whose base was written to in place: the view is a part of the base.
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

/// Node of a tensor of which a part was overwritten: its inputs are the tensor before and the part's new value.
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

/// Serializes threads that find the same view out of date, which is rare.
std::mutex& refresh_mutex() {
  static std::mutex mutex;
  return mutex;
}

/// Gives x the place that `edge` leads to. Returns the node that x had: freeing it may run code of the host language,
/// which must not happen under a lock.
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

Tensor base_of(const Tensor& view) { return Tensor(Ref<TensorImpl>::share(view->base)); }

bool track_view(const Tensor& x, const Tensor& view, bool always) {
  if ((!is_grad_enabled() && !always) || (view->flags & TensorImpl::kTracked)) return false;
  TensorImpl* const base = x->flags & TensorImpl::kTracked ? x->base : x.impl();
  base->retain();
  view->base = base;
  view->history.store(view->storage->history.load(std::memory_order_acquire), std::memory_order_release);
  view->flags |= TensorImpl::kTracked;
  return true;
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

bool detail::special_wants_gradient(const Tensor& x) {
  AutogradMeta* meta = get_meta(x);
  if (meta) {
    if (meta->requires_grad || meta->grad_fn) return true;
    if (!only_traced(*meta)) return meta->kept_output && !meta->weak_node.expired();
  }
  return (x->flags & TensorImpl::kDerived) != 0 && autograd::modes().recorded_backward;
}

Edge gradient_edge(const Tensor& x) {
  AutogradMeta* meta = get_meta(x);
  if (meta && meta->grad_fn) return {meta->grad_fn, meta->output_nr};
  if (!meta || (!meta->requires_grad && only_traced(*meta))) {
    const Node* const layer = modes().recorded_backward;
    if (!layer || (x->flags & TensorImpl::kDerived) == 0) return {};
    return {Ref<Node>::adopt(new DetachedIntermediate(*layer)), 0};
  }
  if (meta->kept_output) return {meta->weak_node.lock(), meta->output_nr};
  if (!meta->requires_grad) return {};
  Ref<AccumulateGrad> fresh;
  // Made before the lock is taken: under trace() a new node asks for the host's stack, which may run the host's code.
  if (is_tracing()) [[unlikely]]
    fresh = Ref<AccumulateGrad>::adopt(new AccumulateGrad(x));
  const std::lock_guard lock(meta->lock);
  if (auto node = meta->weak_node.lock()) return {std::move(node), 0};
  if (!fresh) fresh = Ref<AccumulateGrad>::adopt(new AccumulateGrad(x));
  if (meta->extras && meta->extras->hooks) fresh->expect_hooks();
  meta->weak_node = WeakNode(fresh.get());
  return {std::move(fresh), 0};
}

void detach_in_place(const Tensor& x) {
  if (x->flags & TensorImpl::kTracked) {
    fail<RuntimeError>(
        "[detach_] a view follows the history of the tensor whose memory it shows, and cannot leave the tape alone; "
        "use detach(), or detach_() on that tensor");
  }
  x->flags &= static_cast<std::uint8_t>(~TensorImpl::kDerived);
  AutogradMeta* const meta = peek_meta(x);
  if (!meta) return;
  Ref<Node> dropped;  // all are freed after the lock, as that may run code of the host language
  Tensor before;
  SmallVector<Tangent, 1> tangents;
  const std::lock_guard lock(meta->lock);
  if (meta->kept_output) meta->weak_node = WeakNode();
  meta->kept_output = false;
  meta->requires_grad = false;
  meta->output_nr = 0;
  std::swap(meta->grad_fn, dropped);
  before = keep_as_leaf(*meta);
  if (meta->extras) std::swap(meta->extras->tangents, tangents);
}

}  // namespace lamella::autograd
