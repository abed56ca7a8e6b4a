#include "engine/autograd/recording/recorder.h"

#include <algorithm>
#include <mutex>
#include <set>
#include <string>

#include "engine/autograd/checkpoint/read_watch.h"
#include "engine/autograd/checkpoint/selection.h"
#include "engine/autograd/graph/holders.h"
#include "engine/autograd/graph/meta.h"
#include "engine/autograd/graph/place.h"
#include "engine/autograd/trace/call_watch.h"
#include "engine/autograd/trace/departure.h"
#include "engine/core/error.h"
#include "engine/core/physical_layout.h"

// Note [Kept outputs]
// A layer's forward may keep its output: in the context, in a list, in a closure. If that very handle went on the tape,
// it would hold its node, the node its context, and the context the handle: a cycle that only the host language's
// collector could find. So an output that somebody else still holds leaves the call as a new handle on the same memory.
// The kept one gets a weak edge to the node: used in a recorded op later (in a recorded backward, say) it stands for
// the output, and it keeps nothing alive.
//
// Note [Intermediates]
// Values that forward computes on the way are off the tape. A second derivative that passes through one would miss its
// dependence on the inputs, in silence. So ops inside a forward mark their results as derived, where an input wants a
// gradient or is derived itself; results that cannot carry a gradient (masks, indices) and random numbers are not. A
// derived tensor that is neither input nor output gets, in a recorded backward, an edge to DetachedIntermediate, which
// throws once a gradient really arrives there. A derived tensor handed to the host language (numpy) makes every tensor
// derived that comes back from there in the same forward.

namespace lamella::autograd {
namespace {

bool contains(const TensorList& list, const Tensor& x) {
  return std::ranges::any_of(list, [&](const Tensor& y) { return y.same(x); });
}

bool is_input(std::span<const Tensor* const> inputs, const Tensor& x) {
  return std::ranges::any_of(inputs, [&](const Tensor* y) { return y->same(x); });
}

void put_on_tape(const Tensor& x, const Ref<Node>& node, std::size_t output_nr) {
  AutogradMeta& meta = make_meta(x);
  meta.grad_fn = node;
  meta.output_nr = static_cast<std::uint32_t>(output_nr);
}

bool is_leaf_with_gradient(const AutogradMeta* meta) { return meta && meta->requires_grad && !meta->grad_fn; }

bool repeats_elements(const TensorImpl& x) {
  if (x.contiguous) return false;
  const auto [shape, strides] = PhysicalLayout(x);
  return overlaps_itself(shape, strides);
}

/// Throws RuntimeError where a write into x's memory that is recorded, or that moves tangents, would leave some tensor
/// with a wrong derivative.
void refuse_in_place(std::string_view who, const Tensor& x, bool recorded = true) {
  const bool tracked = (x->flags & TensorImpl::kTracked) != 0;
  if (recorded && (is_leaf_with_gradient(get_meta(x)) ||
                   (tracked && is_leaf_with_gradient(x->base->meta.load(std::memory_order_acquire))))) {
    fail<RuntimeError>("[", who, "] a ", tracked ? "view of a leaf" : "leaf",
                       " tensor that wants a gradient cannot be changed in place while gradients are recorded; use "
                       "no_grad() or work on a copy (clone())");
  }
  if (recorded && (x->flags & TensorImpl::kInference)) {
    fail<RuntimeError>(
        "[", who,
        "] a tensor made in inference_mode cannot take part in a recorded operation; work on a copy made "
        "outside (clone())");
  }
  if (x->storage->has_mark(Storage::kAliased)) {
    fail<RuntimeError>(
        "[", who,
        "] a custom layer returned this memory, or a view of it, as an output with a gradient of its own, beside an "
        "input or another output: an in-place change cannot be recorded; work on a copy (clone()), or return a copy in "
        "forward");
  }
  const TensorImpl& root = tracked ? *x->base : *x.impl();
  if ((root.flags & TensorImpl::kView) && x->storage->use_count() > (tracked ? 2u : 1u)) {
    fail<RuntimeError>("[", who, "] this tensor shares its memory with another through ",
                       root.flags & TensorImpl::kDetached ? "detach()" : "a view made under no_grad()",
                       ", whose gradients would not know of an in-place change; work on a copy (clone())");
  }
  if (tracked && repeats_elements(*x->base)) {
    fail<RuntimeError>(
        "[", who,
        "] this is a view of a tensor whose elements share memory (it was broadcast, or has windows that "
        "overlap): an in-place change cannot be recorded; work on a copy (clone())");
  }
}

/// Settles a result on the memory of an input: of a built-in op it becomes a tracked view; of a custom layer it has a
/// gradient of its own, so that the memory is marked kAliased.
void settle_view(const Context& ctx, std::span<const Tensor* const> inputs, const Tensor& y) {
  if ((y->flags & (TensorImpl::kView | TensorImpl::kTracked)) != TensorImpl::kView) return;
  const Tensor* const shown = shown_input(inputs, y);
  if (!shown) return;
  if (ctx.arguments.empty()) {
    follow_view(*shown, y);
  } else {
    y->storage->set_mark(Storage::kAliased);
  }
}

bool is_in_place(const Context& ctx, const Tensor& x, bool input, const Dialect& dialect) {
  const Context::Extras* extras = ctx.peek_extras();
  if (extras && contains(extras->dirty, x)) return true;
  return input && dialect.returned_input_is_in_place && !(extras && contains(extras->not_inplace, x));
}

/// Returns a copy of the name for WriteRecord::op, which is never freed. Layers that write in place are few, so the set
/// stays small.
const char* interned(const std::string& name) {
  static std::mutex mutex;
  static auto* const names = new std::set<std::string>;
  const std::lock_guard lock(mutex);
  return names->insert(name).first->c_str();
}

/// Checks the inputs that mark_dirty named, and counts the writes.
void settle_dirty(const Context& ctx, std::span<const Tensor* const> inputs, std::span<Tensor* const> outputs,
                  bool recorded) {
  const Context::Extras* extras = ctx.peek_extras();
  if (extras->dirty.empty()) return;
  const std::string who = ctx.node() ? ctx.node()->name() : "mark_dirty";
  for (const Tensor& x : extras->dirty) {
    if (!is_input(inputs, x)) fail<RuntimeError>("[", who, "] mark_dirty got a tensor that is not an input");
    if (std::ranges::none_of(outputs, [&](const Tensor* y) { return y->same(x); })) {
      fail<RuntimeError>(
          "[", who,
          "] an input that was marked dirty must be returned: its gradient flows through the layer from there");
    }
    if (ctx.node()) refuse_in_place(who, x, recorded);
    if (is_grad_enabled() && x->storage->has_mark(Storage::kDeparted)) check_holders(who.c_str(), x);
  }
  for (const Tensor& x : extras->dirty) mark_written(x, interned(who));
}

/// Throws RuntimeError where forward wrote into an input that is on the tape without mark_dirty.
[[gnu::cold]] void refuse_unmarked_writes(const Context& ctx, std::span<const Tensor* const> inputs,
                                          std::span<Tensor* const> outputs, const Dialect& dialect) {
  const Context::Extras* const extras = ctx.peek_extras();
  const auto is_known = [&](const Tensor& x) {
    const bool marked =
        extras && std::ranges::any_of(extras->dirty, [&](const Tensor& y) { return y->storage == x->storage; });
    return marked || (dialect.returned_input_is_in_place &&
                      std::ranges::any_of(outputs, [&](const Tensor* y) { return y->same(x); }));
  };
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& x = *inputs[i];
    if (x.version() == ctx.input_metas[i].version || is_known(x)) continue;
    if (!wants_gradient(x) && !shows_holder(x) && !has_tangents(x)) continue;
    fail<RuntimeError>("[", ctx.node() ? ctx.node()->name() : "forward", "] forward changed its input ", i, " (",
                       describe(x), ", ", describe_last_write(x),
                       ") in place, and the gradient would not know: call ctx.mark_dirty on it and return it, or work "
                       "on a copy (clone())");
  }
}

/// Calls refuse_unmarked_writes() where an input's version has changed: the check on the hot path.
inline void check_unmarked_writes(const Context& ctx, std::span<const Tensor* const> inputs,
                                  std::span<Tensor* const> outputs, const Dialect& dialect) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if ((*inputs[i])->storage->version() == ctx.input_metas[i].version) [[likely]]
      continue;
    return refuse_unmarked_writes(ctx, inputs, outputs, dialect);
  }
}

/// Marks memory that outputs of a layer share with one another, or with tensors that its forward kept: a write into one
/// of them must not pass unseen.
void note_shared_outputs(Context& ctx, std::span<Tensor* const> outputs, std::size_t i) {
  const Tensor& y = *outputs[i];
  if (y->storage->unique()) return;
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    if (k != i && (*outputs[k])->storage == y->storage) y->storage->set_mark(Storage::kAliased);
  }
  // Counts the aliases that the context saved, which are the engine's own and are not written to.
  std::uint32_t own = 1;
  for (const SavedTensor& saved : ctx.saved()) {
    own += saved.tensor().defined() && saved.tensor()->storage == y->storage && !saved.tensor().same(y);
  }
  if (y->storage->use_count() > own) note_holder(y);
}

}  // namespace

void connect_outputs(const Ref<Node>& node, Context& ctx, std::span<const Tensor* const> inputs,
                     std::span<Tensor* const> outputs, const Dialect& dialect) {
  // Drops the marks at the end of the call: they hold handles of outputs, whose node holds the context.
  struct DropMarks {
    Context& ctx;
    ~DropMarks() { ctx.drop_marks(); }
  } const drop_marks{ctx};
  ctx.end_forward();
  node->set_output_count(static_cast<std::uint32_t>(outputs.size()));
  const bool tracing = is_tracing();
  if (tracing) [[unlikely]]
    note_call(*node, inputs, outputs);
  const Context::Extras* extras = ctx.peek_extras();
  const bool checked = !ctx.arguments.empty();
  if (checked && ctx.input_metas.size() == inputs.size()) check_unmarked_writes(ctx, inputs, outputs, dialect);
  if (extras) settle_dirty(ctx, inputs, outputs, true);
  const auto is_differentiable_output = [&](const Tensor& y) {
    return (is_differentiable(y.dtype()) || dialect.integer_outputs) &&
           !(extras && contains(extras->non_differentiable, y));
  };

  // Settles the saved tensors: outputs lose their graph, intermediates are marked as such.
  for (SavedTensor& saved : ctx.saved()) {
    const Tensor& x = saved.tensor();
    if (!x.defined()) continue;
    const bool dirty = extras && contains(extras->dirty, x);
    if (is_input(inputs, x) && !dirty) {
      // Values that an earlier layer's forward computed (a running mean, say) are constants to this layer.
      if (!modes().in_forward && !modes().recorded_backward && (x->flags & TensorImpl::kDerived) &&
          !wants_gradient(x)) {
        saved.become_constant();
      }
      continue;
    }
    const auto output = std::ranges::find_if(outputs, [&](const Tensor* y) { return y->same(x); });
    if (output != outputs.end()) {
      if (dirty) saved.refresh_version();
      if (is_differentiable_output(x)) {
        saved.become_output(static_cast<std::uint32_t>(output - outputs.begin()));
      } else {
        saved.become_constant();
      }
    } else if (x->flags & TensorImpl::kDerived) {
      saved.become_intermediate();
    }
  }
  if (modes().interceptors & Modes::kPacking) [[unlikely]] {
    for (const SavedTensor& saved : ctx.saved()) {
      if (saved.tensor().defined()) note_packed(saved.tensor());
    }
    ctx.pack_saved();
  }

  for (std::size_t i = 0; i < outputs.size(); ++i) {
    Tensor& y = *outputs[i];
    node->note_hidden_axes(static_cast<std::uint32_t>(i), y);
    const bool input = is_input(inputs, y);
    const bool differentiable = is_differentiable_output(y);
    // Written only where set: a tensor that other threads read too must not be written to.
    if (y->flags & TensorImpl::kDerived) y->flags &= static_cast<std::uint8_t>(~TensorImpl::kDerived);
    if (is_in_place(ctx, y, input, dialect)) {
      if (!(extras && contains(extras->dirty, y)) && is_leaf_with_gradient(get_meta(y))) {
        fail<ValueError>(
            "[", node->name(),
            "] returned a leaf tensor that wants a gradient: it would be changed in place; use mark_not_inplace or "
            "return a copy");
      }
      rebase_history(y, differentiable ? Edge{node, static_cast<std::uint32_t>(i)} : Edge());
      continue;
    }
    // Puts a fresh result that nobody else holds on the tape as it is.
    const bool fresh = !input && is_unplaced(y) && y->use_count() == 1;
    if (!differentiable) {
      const bool marked = tracing && extras && contains(extras->non_differentiable, y);
      if (!fresh) y = make_alias(y);
      if (tracing) [[unlikely]]
        note_departure(node->name(), inputs, y, marked ? Leaving::Marked : Leaving::Mode);
      continue;
    }
    if (fresh) {
      settle_view(ctx, inputs, y);
      put_on_tape(y, node, i);
      if (checked) note_shared_outputs(ctx, outputs, i);
      continue;
    }
    Tensor handle = make_alias(y);
    if (!input && is_unplaced(y)) {
      AutogradMeta& kept = make_meta(y);  // Note [Kept outputs]
      kept.kept_output = true;
      kept.output_nr = static_cast<std::uint32_t>(i);
      kept.weak_node = WeakNode(node);
    }
    settle_view(ctx, inputs, handle);
    put_on_tape(handle, node, i);
    if (!input) note_holder(handle);
    y = std::move(handle);
  }
}

void finish_unrecorded(Context& ctx, std::span<const Tensor* const> inputs, std::span<Tensor* const> outputs,
                       const Dialect& dialect) {
  ctx.end_forward();
  const Context::Extras* extras = ctx.peek_extras();
  if (!inputs.empty() && ctx.input_metas.size() == inputs.size()) check_unmarked_writes(ctx, inputs, outputs, dialect);
  if (extras) {
    settle_dirty(ctx, inputs, outputs, false);
    // Takes the versions of now, as jvp reads what forward saved also in a call that is not recorded.
    for (SavedTensor& saved : ctx.saved()) {
      if (saved.tensor().defined() && contains(extras->dirty, saved.tensor())) saved.refresh_version();
    }
  }
  for (Tensor* y : outputs) {
    const bool constant = extras && contains(extras->non_differentiable, *y);
    const bool input = is_input(inputs, *y);
    if (input && !is_in_place(ctx, *y, input, dialect)) *y = make_alias(*y);
    track_result(inputs, *y);
    note_shared_result(*y);
    // Marked here as derived, as forward may have computed with raw memory, which leaves no mark.
    if (!constant) note_derived(inputs, *y);
  }
}

bool records_in_place(const char* op, const Tensor& x, const Tensor& other) {
  if (x->storage->has_mark(Storage::kDeparted) && is_grad_enabled()) [[unlikely]]
    check_holders(op, x);
  if ((modes().interceptors & Modes::kSelective) && other.defined()) [[unlikely]]
    note_read(op, other);
  const bool takes_other = other.defined() && is_differentiable(x.dtype());
  const bool dual = duals_active() && (is_dual(x) || (takes_other && is_dual(other)));
  const bool recorded = is_grad_enabled() && (wants_gradient(x) ||
                                              ((x->flags & TensorImpl::kTracked) != 0 &&
                                               is_leaf_with_gradient(x->base->meta.load(std::memory_order_acquire))) ||
                                              (takes_other && wants_gradient(other)));
  if (!recorded && !dual) return false;
  refuse_in_place(op, x, recorded);
  return true;
}

void take_place(const Tensor& x, const Tensor& result) {
  if (is_grad_enabled()) {
    Edge edge = result.defined() ? gradient_edge(result) : Edge();
    if (!edge && is_tracing()) [[unlikely]]
      note_overwritten(x);
    rebase_history(x, std::move(edge));
  }
  if (duals_active()) [[unlikely]]
    move_tangents(x, result);
}

}  // namespace lamella::autograd
