#include "engine/autograd/recorder.h"

#include <algorithm>
#include <mutex>
#include <set>
#include <string>

#include "engine/autograd/backward.h"
#include "engine/autograd/departure.h"
#include "engine/autograd/origin.h"
#include "engine/autograd/primitives.h"
#include "engine/autograd/views.h"
#include "engine/core/error.h"

// Note [Kept outputs]
// A layer's forward may keep its output: in the context, in a list, in a closure. If that very handle went on the tape,
// it would hold its node, the node its context, and the context the handle: a cycle that only the host language could
// find, if anybody. So an output that somebody else still holds leaves the call as a new handle on the same memory. The
// kept one gets a weak edge to the node: used in a recorded op later (in a recorded backward, say) it stands for the
// output, and it keeps nothing alive.
//
// Note [Intermediates]
// What forward computes on the way is off the tape. A second derivative that passes through such a value would miss its
// dependence on the inputs, in silence. So ops inside a forward mark their results as derived, where an input wants a
// gradient or is derived itself; results that cannot carry a gradient (masks, indices) and random numbers are not. A
// derived tensor that is neither input nor output gets, in a recorded backward, an edge to DetachedIntermediate, which
// raises once a gradient really arrives there. A derived tensor handed to the host language (numpy) makes everything
// that comes back from there in the same forward derived.

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
  for (std::size_t i = 0; i < x.shape.size(); ++i) {
    if (x.strides[i] == 0 && x.shape[i] > 1) return true;
  }
  return x.hidden && std::ranges::any_of(*x.hidden, [](const HiddenAxis& a) { return a.stride == 0 && a.size > 1; });
}

/// RuntimeError where a write into x's memory that is recorded, or that moves tangents, would leave some tensor with a
/// wrong derivative.
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
  if (x->storage->aliased.load(std::memory_order_relaxed)) {
    fail<RuntimeError>(
        "[", who,
        "] a custom layer returned this memory, or a view of it, as an output with a gradient of its own: "
        "an in-place change cannot be recorded; work on a copy (clone()), or return a copy in forward");
  }
  if ((x->flags & TensorImpl::kView) && !tracked && !x->storage->unique()) {
    fail<RuntimeError>("[", who, "] this tensor shares its memory with another through ",
                       x->flags & TensorImpl::kDetached ? "detach()" : "a view made under no_grad()",
                       ", whose gradients would not know of an in-place change; work on a copy (clone())");
  }
  if (tracked && repeats_elements(*x->base)) {
    fail<RuntimeError>("[", who,
                       "] this is a view of a broadcast tensor, whose elements share memory: an in-place change cannot "
                       "be recorded; work on a copy (clone())");
  }
}

/// A result on the memory of an input: a built-in op made a view; a custom layer has a gradient of its own for it.
void settle_view(const Context& ctx, std::span<const Tensor* const> inputs, const Tensor& y) {
  if ((y->flags & (TensorImpl::kView | TensorImpl::kTracked)) != TensorImpl::kView) return;
  for (const Tensor* x : inputs) {
    if ((*x)->storage != y->storage) continue;
    if (ctx.arguments.empty()) {
      track_view(*x, y);
    } else {
      y->storage->aliased.store(true, std::memory_order_relaxed);
    }
    return;
  }
}

bool is_in_place(const Context& ctx, const Tensor& x, bool input, const Dialect& dialect) {
  const Context::Extras* extras = ctx.peek_extras();
  if (extras && contains(extras->dirty, x)) return true;
  return input && dialect.returned_input_is_in_place && !(extras && contains(extras->not_inplace, x));
}

/// A name for WriteRecord::op, which is never freed. Layers that write in place are few, so the set stays small.
const char* interned(const std::string& name) {
  static std::mutex mutex;
  static auto* const names = new std::set<std::string>;
  const std::lock_guard lock(mutex);
  return names->insert(name).first->c_str();
}

/// Checks what mark_dirty was told, and counts the writes.
void settle_dirty(const Context& ctx, std::span<const Tensor* const> inputs, std::span<Tensor* const> outputs,
                  bool recorded) {
  const Context::Extras* extras = ctx.peek_extras();
  if (!extras || extras->dirty.empty()) return;
  const std::string who = ctx.node() ? ctx.node()->name() : "mark_dirty";
  for (const Tensor& x : extras->dirty) {
    if (!is_input(inputs, x)) fail<RuntimeError>("[", who, "] mark_dirty got a tensor that is not an input");
    if (std::ranges::none_of(outputs, [&](const Tensor* y) { return y->same(x); })) {
      fail<RuntimeError>(
          "[", who,
          "] an input that was marked dirty must be returned: its gradient flows through the layer from there");
    }
    if (ctx.node()) refuse_in_place(who, x, recorded);
  }
  for (const Tensor& x : extras->dirty) mark_written(x, interned(who));
}

}  // namespace

void connect_outputs(const Ref<Node>& node, Context& ctx, std::span<const Tensor* const> inputs,
                     std::span<Tensor* const> outputs, const Dialect& dialect) {
  // The marks hold handles of outputs, whose node holds the context: they must not outlive the call.
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
  settle_dirty(ctx, inputs, outputs, true);
  const auto is_differentiable_output = [&](const Tensor& y) {
    return (is_differentiable(y.dtype()) || dialect.integer_outputs) &&
           !(extras && contains(extras->non_differentiable, y));
  };

  // What was saved: outputs without their graph, intermediates marked as such.
  for (SavedTensor& saved : ctx.saved()) {
    const Tensor& x = saved.tensor();
    if (!x.defined()) continue;
    const bool dirty = extras && contains(extras->dirty, x);
    if (is_input(inputs, x) && !dirty) {
      // What an earlier layer's forward computed (a running mean, say) is a constant to this one.
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
  if (modes().interceptors & Modes::kPacking) [[unlikely]]
    ctx.pack_saved();

  for (std::size_t i = 0; i < outputs.size(); ++i) {
    Tensor& y = *outputs[i];
    node->note_hidden_axes(static_cast<std::uint32_t>(i), y);
    const bool input = is_input(inputs, y);
    const bool differentiable = is_differentiable_output(y);
    // Only where set: a tensor that other threads read too must not be written to.
    if (y->flags & TensorImpl::kDerived) y->flags &= static_cast<std::uint8_t>(~TensorImpl::kDerived);
    if (is_in_place(ctx, y, input, dialect)) {
      if (!extras || !contains(extras->dirty, y)) {
        const AutogradMeta* meta = get_meta(y);
        if (meta && meta->requires_grad && !meta->grad_fn) {
          fail<ValueError>(
              "[", node->name(),
              "] returned a leaf tensor that wants a gradient: it would be changed in place; use mark_not_inplace or "
              "return a copy");
        }
      }
      rebase_history(y, differentiable ? Edge{node, static_cast<std::uint32_t>(i)} : Edge());
      continue;
    }
    // A fresh result that nobody else holds goes on the tape as it is.
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
    y = std::move(handle);
  }
}

void finish_unrecorded(Context& ctx, std::span<const Tensor* const> inputs, std::span<Tensor* const> outputs,
                       const Dialect& dialect) {
  ctx.end_forward();
  settle_dirty(ctx, inputs, outputs, false);
  const Context::Extras* extras = ctx.peek_extras();
  if (extras) {
    // A call that only forward mode looks at reads in its jvp what forward saved.
    for (SavedTensor& saved : ctx.saved()) {
      if (saved.tensor().defined() && contains(extras->dirty, saved.tensor())) saved.refresh_version();
    }
  }
  for (Tensor* y : outputs) {
    const bool constant = extras && contains(extras->non_differentiable, *y);
    const bool input = is_input(inputs, *y);
    if (input && !is_in_place(ctx, *y, input, dialect)) *y = make_alias(*y);
    track_result(inputs, *y);
    // The forward may have computed with raw memory, which leaves no note.
    if (!constant) note_derived(inputs, *y);
  }
}

bool records_in_place(const char* op, const Tensor& x, const Tensor& other) {
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

void track_unrecorded(std::span<const Tensor* const> inputs, const Tensor& y) {
  for (const Tensor* x : inputs) {
    if ((*x)->storage == y->storage && !x->same(y)) {
      track_view(*x, y);
      return;
    }
  }
}

namespace {

std::string argument_name(std::size_t i, std::span<const std::string> names) {
  return i < names.size() ? names[i] : "argument " + std::to_string(i);
}

std::string tensor_arguments(const Context& ctx, std::span<const std::string> names) {
  std::string text;
  for (std::size_t i = 0; i < ctx.arguments.size(); ++i) {
    if (ctx.arguments[i].has_tensors) text += (text.empty() ? "" : ", ") + argument_name(i, names);
  }
  return text;
}

bool argument_wants(const Node& node, const ArgumentInfo& argument) {
  for (std::uint32_t k = argument.first; k < argument.first + argument.count; ++k) {
    if (node.edges()[k]) return true;
  }
  return false;
}

/// The same for the pass that runs: grad() may ask for some of the inputs only.
bool pass_wants(const Node& node, const ArgumentInfo& argument) {
  for (std::uint32_t k = argument.first; k < argument.first + argument.count; ++k) {
    if (is_needed(node.edges()[k])) return true;
  }
  return false;
}

bool is_given(const GradientEntry& entry) {
  return std::ranges::any_of(entry.tensors, [](const Tensor& g) { return g.defined(); });
}

}  // namespace

TensorList assign_gradients(const Node& node, const Context& ctx, std::vector<GradientEntry> entries,
                            const Dialect& dialect, std::span<const std::string> names) {
  const auto& arguments = ctx.arguments;
  std::vector<std::size_t> tensor_arguments_at;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].has_tensors) tensor_arguments_at.push_back(i);
  }
  const std::size_t by_tensor = tensor_arguments_at.size();
  const std::size_t by_argument = arguments.size();

  const auto wrong_count = [&] {
    fail<ValueError>("[", node.name(), "] backward returned ", entries.size(),
                     entries.size() == 1 ? " gradient" : " gradients", ", expected ", by_tensor,
                     ", one for each tensor argument (", tensor_arguments(ctx, names), ")",
                     by_argument != by_tensor ? str(", or ", by_argument, ", one for each argument") : std::string());
  };

  // Which argument entry i belongs to.
  std::vector<std::size_t> target;
  if (entries.size() == by_tensor) {
    target = tensor_arguments_at;
  } else if (entries.size() == by_argument) {
    for (std::size_t i = 0; i < by_argument; ++i) target.push_back(i);
  } else if (entries.size() < by_tensor) {
    target.assign(tensor_arguments_at.begin(),
                  tensor_arguments_at.begin() + static_cast<std::ptrdiff_t>(entries.size()));
    for (std::size_t i = entries.size(); i < by_tensor; ++i) {
      if (pass_wants(node, arguments[tensor_arguments_at[i]])) wrong_count();
    }
  } else {
    wrong_count();
  }

  TensorList grads(node.edges().size());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const ArgumentInfo& argument = arguments[target[i]];
    GradientEntry& entry = entries[i];
    if (!is_given(entry)) continue;
    const std::string name = argument_name(target[i], names);
    if (!argument.has_tensors) {
      fail<ValueError>("[", node.name(), "] backward returned a gradient for ", name, ", which is not a tensor");
    }
    if (!argument_wants(node, argument)) {
      if (dialect.strict_stop_gradient) {
        fail<ValueError>("[", node.name(), "] backward returned a gradient for ", name,
                         ", which has stop_gradient=True; return None");
      }
      if (by_tensor != by_argument) {
        fail<ValueError>("[", node.name(), "] backward returned a gradient for ", name, ", which wants none. With ",
                         by_tensor, " tensor arguments of ", by_argument,
                         " in all this is taken for a miscount, which would leave another input without its gradient: "
                         "return None there");
      }
      continue;
    }
    if (entry.container && entry.tensors.size() != argument.count) {
      // Empty optionals of the gradient may stand for those of the argument, which have no tensor.
      TensorList given;
      for (Tensor& g : entry.tensors) {
        if (g.defined()) given.push_back(std::move(g));
      }
      entry.tensors = std::move(given);
    }
    if (entry.container != argument.container || entry.tensors.size() != argument.count) {
      fail<ValueError>(
          "[", node.name(), "] backward must return, for ", name, ", ",
          argument.container ? str("a gradient of the argument's form, with ", argument.count, " tensors")
                             : std::string("one tensor"),
          ", got ",
          entry.container ? str("a container with ", entry.tensors.size(), " tensors") : std::string("one tensor"));
    }
    for (std::uint32_t k = 0; k < argument.count; ++k) {
      const std::size_t at = argument.first + k;
      if (entry.tensors[k].defined() && node.edges()[at]) {
        grads[at] = conform_gradient(node, ctx, at, std::move(entry.tensors[k]));
      }
    }
  }
  return grads;
}

Tensor conform_gradient(const Node& node, const Context& ctx, std::size_t k, Tensor grad) {
  const TensorMeta& input = ctx.input_metas[k];
  if (grad.device() != input.device) {
    fail<RuntimeError>("[", node.name(), "] backward returned a gradient on ", grad.device(), " for an input on ",
                       input.device);
  }
  if (grad.shape() != input.shape) {
    if (!broadcasts_to(input.shape, grad.shape())) {
      fail<ValueError>("[", node.name(), "] backward returned a gradient of shape ", grad.shape(),
                       " for an input of shape ", input.shape);
    }
    grad = primitives().sum_to(grad, input.shape);
  }
  if (grad.dtype() != input.dtype && is_differentiable(input.dtype)) grad = primitives().cast(grad, input.dtype);
  return grad;
}

void prepare_gradients(const Context& ctx, TensorList& grads) {
  for (std::size_t i = 0; i < ctx.output_metas.size(); ++i) {
    const TensorMeta& output = ctx.output_metas[i];
    if (!grads[i].defined()) {
      if (ctx.materialize_grads()) grads[i] = primitives().full(output.shape, output.dtype, output.device, 0.0);
    } else if (ctx.grad_in_dtype_consistent() && grads[i].dtype() != output.dtype && is_differentiable(output.dtype)) {
      grads[i] = primitives().cast(grads[i], output.dtype);
    }
  }
}

}  // namespace lamella::autograd
