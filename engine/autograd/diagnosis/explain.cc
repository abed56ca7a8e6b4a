#include "engine/autograd/diagnosis/explain.h"

#include <algorithm>
#include <mutex>
#include <unordered_map>

#include "engine/autograd/backward/hooks.h"
#include "engine/autograd/diagnosis/inspect.h"
#include "engine/autograd/graph/meta.h"
#include "engine/autograd/graph/origin.h"
#include "engine/autograd/graph/place.h"
#include "engine/autograd/saved/context.h"
#include "engine/autograd/trace/departure.h"
#include "engine/autograd/trace/pass_watch.h"
#include "engine/core/error.h"

namespace lamella::autograd {
namespace {

constexpr std::size_t kShownOperations = 12;
constexpr std::size_t kShownEnds = 6;

constexpr const char* kTraceHint =
    "To learn the operation and its line, run the computation under lamella.autograd.trace() and ask again.";

std::string called_at(const std::string& place) { return place.empty() ? "" : " (called at " + place + ")"; }

std::string place_of(SourceLine line) { return line ? str(line.file, ":", line.line) : std::string(); }

std::string operation(const Departure& d) { return str("`", d.op, "`", called_at(place_of(d.line))); }

std::string at(SourceLine line) { return line ? " at " + place_of(line) : ""; }

/// Returns the reason of a departure, and advice on what to change.
std::string reason(const Departure& d) {
  switch (d.reason) {
    case Leaving::NoGrad:
      return "recording was off there, by no_grad() or set_grad_enabled(False). Compute it outside of that scope, or "
             "under enable_grad().";
    case Leaving::Inference:
      return "it ran in inference_mode, whose results never take part in a recorded operation. Compute it outside of "
             "that scope.";
    case Leaving::Forward:
      return "it ran in the forward of a custom layer, where nothing is recorded. Return the value from forward, and "
             "let the layer's backward give its gradient.";
    case Leaving::Pass:
      return "it ran in a backward pass that was not recorded. Pass create_graph=True to that pass.";
    case Leaving::DType:
      return str("its result is ", d.dtype,
                 ", and only floating and complex tensors have gradients. Use a differentiable operation in its place "
                 "where a gradient is to flow.");
    case Leaving::NotDifferentiable:
      return "it has no gradient. Use a differentiable operation in its place where a gradient is to flow.";
    case Leaving::Marked:
      return "the layer named this output in mark_non_differentiable(). Take it out of there, and let the layer's "
             "backward give its gradient.";
    case Leaving::Detached:
      return "detach() gives a constant. Use the tensor itself where a gradient is to flow.";
    case Leaving::Overwritten:
      return "a constant was written over it in place. Write into a copy, x.clone(), where a gradient is to flow.";
    case Leaving::Mode:
    case Leaving::Host:
    case Leaving::Earlier:
      break;
  }
  return "";
}

/// Returns a departure with those before it, as "was computed by `add` (called at a.py:4) from input 0, which left the
/// tape at `detach` (called at a.py:3): ...".
std::string story(const Departure& last) {
  std::string text;
  const Departure* d = &last;
  for (; d->reason == Leaving::Earlier; d = d->before.get()) {
    text += str("was computed by ", operation(*d), " from input ", d->input, ", which ");
    if (d->skipped) text += str("came through ", d->skipped, " more operations from a tensor that ");
  }
  if (d->reason != Leaving::Host) return str(text, "left the tape at ", operation(*d), ": ", reason(*d));
  text += str("was made of plain values (a number, a list or an array)", at(d->line));
  if (const Departure* gone = d->before.get()) {
    text +=
        str(", after the values of a tensor that wants a gradient had been taken out (by numpy(), item() or the "
            "like)",
            at(gone->line));
    if (gone->before) text += str("; that tensor ", story(*gone->before));
  }
  return text + (text.ends_with('.') ? "" : ".") +
         " What is computed with plain values is not recorded: compute with tensors, or write a layer whose backward "
         "gives the gradient.";
}

std::string subject(const Tensor& x, const char* name) { return str(name, " (", describe(x), ") "); }

bool was_freed(const Node& node) {
  const Context* context = node.context();
  return context && context->freed();
}

std::string explain_result(const Tensor& x, const AutogradMeta& meta, const char* name) {
  const Node& node = *meta.grad_fn;
  const std::string freed =
      was_freed(node) ? str(" A backward pass has freed the graph since: compute ", name, " again first.") : "";
  if (retains_grad(x)) {
    return str(subject(x, name), "is the result of ", name_and_place(node),
               ". retain_grad() was called for it, and no ",
               "backward pass has brought a gradient since: call backward() on something computed from it.", freed);
  }
  std::string text = str(subject(x, name), "is the result of ", name_and_place(node),
                         " and not a leaf: a backward pass ", "keeps gradients of leaves only. Call ", name,
                         ".retain_grad() before backward(), or use ", "lamella.autograd.grad().");
  if (x->flags & TensorImpl::kTracked) {
    const AutogradMeta* base = x->base->meta.load(std::memory_order_acquire);
    if (base && base->requires_grad && !base->grad_fn) {
      text += str(" It is a view of a leaf, whose own grad gets this gradient in the view's place.");
    }
  }
  return text + freed;
}

std::string explain_leaf(const Tensor& x, AutogradMeta& meta, const char* name) {
  std::shared_ptr<const Missed> missed;
  bool cleared = false;
  bool used = false;
  {
    const std::lock_guard lock(meta.lock);
    if (meta.extras) missed = meta.extras->missed;
    cleared = meta.grad_cleared;
    used = !meta.weak_node.expired();
  }
  const std::string who = subject(x, name) + "is a leaf that wants a gradient, ";
  if (missed) {
    return str(who, "but the last backward pass", missed->pass ? called_at(place_of(missed->pass)) : "",
               " brought it none: `", missed->op, "`", called_at(missed->place),
               " gave no gradient (None) for its input ", missed->input, ", and ", name,
               " is reached through that input only. Return a gradient there if ", name, " is to have one.");
  }
  if (cleared) {
    return str(who, "and its gradient was cleared (by setting grad to None, clear_grad() or zero_grad()). No backward ",
               "pass has brought one since: call backward() again.");
  }
  if (used) {
    return str(who,
               "and a recorded operation uses it, but no backward pass has brought a gradient: call backward() on ",
               "what was computed from it. (lamella.autograd.grad() returns gradients and leaves grad alone.) If ",
               "backward() did run, no path led from its tensor to ", name, ": explain(", name, ", of=that tensor) ",
               "tells where it ends.");
  }
  return str(who,
             "but no recorded operation that is still alive uses it: nothing was computed from it while recording ",
             "was on, or what was is dropped. Check that the loss is computed from this very tensor, not from a copy ",
             "or a detached one: explain(", name, ", of=loss) tells where the path ends.");
}

std::string explain_off_tape(const Tensor& x, AutogradMeta* meta, const char* name) {
  const std::string who = subject(x, name);
  const auto flag = [&](TensorImpl::Flag f) { return (x->flags & f) != 0; };
  if (const auto departure = departure_of(x)) return who + story(*departure);
  if (!is_differentiable(x.dtype())) {
    return str(who, "is of dtype ", x.dtype(),
               ", and only floating and complex tensors have gradients. Where it stands ",
               "for real values, use a floating copy: ", name, ".astype('float32').");
  }
  if (flag(TensorImpl::kInference)) {
    return str(who, "was made in inference_mode: it never takes part in a recorded operation. Make it outside of that ",
               "scope, or use a copy made outside, ", name, ".clone().");
  }
  if (meta && meta->kept_output) {
    return str(who, "is what a layer's forward returned, as the layer itself kept it. The tensor on the tape is the ",
               "one that apply() returned: use that one.");
  }
  if (flag(TensorImpl::kDerived)) {
    return str(who,
               "was computed in the forward of a custom layer, where nothing is recorded. Return it from forward, ",
               "and let the layer's backward give its gradient. ", kTraceHint);
  }
  if (flag(TensorImpl::kDetached)) {
    return str(who,
               "was made by detach(), which gives a constant. Use the tensor it was made from where a gradient is ",
               "to flow. ", kTraceHint);
  }
  if (meta && x->storage && x->storage->last_write().op) {
    const WriteRecord write = x->storage->last_write();
    return str(who, "was overwritten in place by `", write.op, "`", called_at(place_of(write.line)),
               ", and what was written is a constant. Write into a copy, ", name,
               ".clone(), where a gradient is to flow.");
  }
  if (meta && !only_traced(*meta)) {
    return str(who, "is a leaf whose stop_gradient was set to True. Set ", name,
               ".stop_gradient = False before computing with it if it is to have a gradient.");
  }
  if (flag(TensorImpl::kTracked)) {
    const Tensor base(Ref<TensorImpl>::share(x->base));
    return str(who,
               "is a view of a tensor that is off the tape itself: ", explain_off_tape(base, get_meta(base), "base"));
  }
  if (x->storage && x->storage->deleter) {
    return str(who,
               "lies in memory of another library (from_numpy(), asarray() or from_dlpack() took it over): how it ",
               "was computed there is not recorded. If it is an input, set ", name,
               ".stop_gradient = False before computing with it; otherwise compute with tensors.");
  }
  return str(who, "has stop_gradient=True and no history. Either it was made as a constant: set ", name,
             ".stop_gradient = False before computing with it if it is to have a gradient. Or it is the result of an "
             "operation that was not recorded: under no_grad(), from inputs none of which wants a gradient, by an "
             "operation without a gradient, or from plain values (numpy(), item()). ",
             kTraceHint);
}

std::string explain_alone(const Tensor& x, const char* name) {
  AutogradMeta* const meta = get_meta(x);
  if (x.grad().defined()) {
    return str(subject(x, name), "has a gradient: ", name,
               ".grad holds what backward passes have added up since it was last cleared.");
  }
  if (meta && meta->grad_fn) return explain_result(x, *meta, name);
  if (meta && meta->requires_grad) return explain_leaf(x, *meta, name);
  return explain_off_tape(x, meta, name);
}

/// Returns the nodes on a shortest path from `root` to `target`, the root first; nothing where there is no path.
std::vector<const Node*> path_to(const Node* root, const Node* target) {
  std::unordered_map<const Node*, const Node*> came_from{{root, nullptr}};
  std::vector<const Node*> queue{root};
  for (std::size_t i = 0; i < queue.size() && !came_from.contains(target); ++i) {
    for (const Edge& edge : queue[i]->edges()) {
      if (edge && came_from.try_emplace(edge.node.get(), queue[i]).second) queue.push_back(edge.node.get());
    }
  }
  std::vector<const Node*> path;
  if (!came_from.contains(target)) return path;
  for (const Node* node = target; node; node = came_from.at(node)) path.push_back(node);
  std::ranges::reverse(path);
  return path;
}

std::string explain_path(const Tensor& x, const std::vector<const Node*>& path) {
  const std::size_t operations = path.size() - (x.is_leaf() ? 1 : 0);
  std::string text = str("The tape leads from `of` to ", subject(x, "x"), "through ");
  for (std::size_t i = 0; i < std::min(operations, kShownOperations); ++i) {
    text += str(i ? ", " : "", name_and_place(*path[i]));
  }
  if (operations > kShownOperations) text += str(" and ", operations - kShownOperations, " more");
  return text + ". " + explain_alone(x, "x");
}

/// Lists the inputs below `root` that had left the tape, one line each; empty where none is known.
std::string ends_below(const Edge& root) {
  std::string text;
  std::size_t count = 0;
  for (const Node* node : reachable_nodes({&root, 1})) {
    const auto origin = origin_of(*node);
    if (!origin) continue;
    for (const auto& [input, departure] : origin->departed) {
      if (++count <= kShownEnds) {
        text += str("\n  at input ", input, " of ", name_and_place(*node), ", which ", story(*departure));
      }
    }
  }
  if (count > kShownEnds) text += str("\n  and at ", count - kShownEnds, " more inputs");
  return text;
}

}  // namespace

std::string explain(const Tensor& x, const Tensor& of) {
  if (!x.defined()) fail<ValueError>("[explain] the tensor is undefined");
  if (!of.defined()) return explain_alone(x, "x");
  const Edge root = gradient_edge(of);
  if (!root) return "No tape leads anywhere from `of`: " + explain_off_tape(of, get_meta(of), "of");
  const Edge target = gradient_edge(x);
  if (!target) return "No tape leads to x. " + explain_alone(x, "x");
  if (const auto path = path_to(root.node.get(), target.node.get()); !path.empty()) return explain_path(x, path);
  const std::string ends = ends_below(root);
  return str("The tape does not lead from `of` (", describe(of), ") to x (", describe(x),
             "): a backward pass from there brings it no gradient. ",
             ends.empty() ? std::string("To learn where the path is broken, run the computation under "
                                        "lamella.autograd.trace() and ask again.")
                          : "The tape from `of` ends" + ends);
}

}  // namespace lamella::autograd
