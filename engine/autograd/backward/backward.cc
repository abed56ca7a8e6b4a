#include "engine/autograd/backward/backward.h"

#include <algorithm>
#include <optional>

#include "engine/autograd/backward/fresh_stack.h"
#include "engine/autograd/backward/hooks.h"
#include "engine/autograd/graph/accumulate.h"
#include "engine/autograd/graph/primitives.h"
#include "engine/autograd/graph/running_pass.h"
#include "engine/autograd/trace/pass_watch.h"
#include "engine/autograd/vmap/batched_grads.h"
#include "engine/core/error.h"
#include "engine/core/host.h"
#include "engine/core/modes.h"
#include "engine/core/spare_memory.h"
#include "engine/runtime/streams.h"

// Note [Passes]
// A pass first walks the graph from its roots, counting for each node how many gradients will arrive, then runs nodes
// whose count has reached zero, the most recently recorded first. Its notes lie in the nodes: a pass claims each node
// it reaches by writing its number there, and keeps notes in a table of its own for nodes that a concurrent (or
// enclosing) pass holds. All nodes run on the calling thread; only a pass nested deeper than kMaxDepth runs on a fresh
// one, because each level takes some of the stack.

namespace lamella::autograd {
namespace {

constexpr int kMaxDepth = 48;
/// Number of passes that may be nested for each call that the host may nest, as its count begins anew on every fresh
/// stack.
constexpr int kPassesPerHostCall = 8;
constexpr int kMaxNested = 8192;           // where there is no host
constexpr std::int64_t kLongWork = 32768;  // size of a gradient after which an interrupt is looked for at once

/// Gradient that the pass is to return: the one that arrives at output `input_nr` of a node.
struct Capture {
  std::uint32_t input_nr;
  /// Next capture in the chain of those at the same node, counted from 1; 0 at its end.
  std::uint32_t next;
  Tensor grad;
  /// If set, the gradient is added to this tensor's grad.
  const Tensor* into;
};

thread_local int depth = 0;
/// Number of passes around those of this thread, on the threads that wait for it.
thread_local int outer_depth = 0;

class Pass : public RunningPass {
 public:
  Pass(std::vector<Root> roots, bool retain_graph, bool create_graph)
      : retain_graph_(retain_graph), create_graph_(create_graph), roots_(std::move(roots)) {}
  ~Pass() {
    for (Node* node : claimed_) {
      node->scratch = Scratch();
      node->claimed_by.store(0, std::memory_order_release);
    }
  }

  /// Restricts the pass to what its captures and targets need, and keeps the gradient that arrives along `edge`, or
  /// adds it to the grad of `into`. The caller holds both the edge's node and the tensor.
  void capture(const Edge& edge, const Tensor* into = nullptr) {
    everything_ = false;
    Scratch& notes = enter(edge.node.get());
    notes.needed = true;
    captures_.push_back({edge.input_nr, notes.capture, Tensor(), into});
    notes.capture = static_cast<std::uint32_t>(captures_.size());
  }
  /// Restricts the pass to what its captures and targets need, and runs the node of `edge`: a leaf's AccumulateGrad.
  void target(const Edge& edge) {
    everything_ = false;
    Scratch& notes = enter(edge.node.get());
    notes.needed = notes.target = true;
  }
  /// Returns the captures in the order of the calls of capture().
  std::vector<Capture>& captures() { return captures_; }
  void run() {
    RunningPass* const outer = exchange_current(this);
    ++depth;
    struct Leave {
      RunningPass* outer;
      Modes modes_before = modes();
      ~Leave() {
        exchange_current(outer);
        --depth;
        modes() = modes_before;
      }
    } const leave{outer};
    modes() = Modes{.grad_enabled = create_graph_,
                    .internal = true,
                    // Autocast is off, as gradients have the dtypes that forward had.
                    .interceptors = static_cast<std::uint8_t>(leave.modes_before.interceptors & ~Modes::kAutocast),
                    // Values that a layer's forward computed are no constants to a pass that its backward begins.
                    .recorded_backward = leave.modes_before.recorded_backward};
    if (streams_in_use()) [[unlikely]] {  // see Note [Streams in a pass]
      join_streams();
      for (const Root& root : roots_) note_use(root.grad);
    }
    explore();
    for (Root& root : roots_) deliver(root.edge, std::move(root.grad));
    for (Root& root : roots_) {
      // A root that other roots lead to waits for them; one named twice is queued once.
      Node* const node = root.edge.node.get();
      if (scratch(node).dependencies == 0 && std::ranges::find(ready_, node) == ready_.end()) push_ready(node);
    }
    while (!ready_.empty()) run_node(take_newest());
    modes() = leave.modes_before;
    for (std::size_t i = 0; i < callbacks().size(); ++i) std::exchange(callbacks()[i], nullptr)();
  }

 private:
  /// Returns the notes on a node: in the node where this pass holds it, in the table otherwise.
  Scratch& scratch(Node* node) {
    if (node->claimed_by.load(std::memory_order_relaxed) == id_) return node->scratch;
    return overflow_[node];
  }

  /// Returns the notes on a node, begun where this pass has none.
  Scratch& enter(Node* node) {
    std::uint64_t holder = node->claimed_by.load(std::memory_order_relaxed);
    if (holder == id_) return node->scratch;
    // Notes in the table stay there, also after the other pass has let go of the node.
    if (overflow_.empty() || !overflow_.contains(node)) {
      holder = 0;
      if (node->claimed_by.compare_exchange_strong(holder, id_, std::memory_order_acquire)) {
        claimed_.push_back(node);
        return node->scratch;
      }
    }
    return overflow_[node];
  }

  /// Counts dependencies and finds the nodes on a path to a capture or a target, depth first without recursion.
  void explore() {
    struct Frame {
      Node* node;
      std::size_t next_edge;
    };
    SmallVector<Frame, 16> stack;
    const auto visit = [&](Node* node, Scratch& notes) {
      notes.visited = true;
      notes.needed |= everything_;
      stack.push_back({node, 0});
    };
    for (const Root& root : roots_) {
      if (Scratch& notes = enter(root.edge.node.get()); !notes.visited) visit(root.edge.node.get(), notes);
      while (!stack.empty()) {
        Frame& frame = stack.back();
        Node* const node = frame.node;
        if (frame.next_edge == node->edges().size()) {
          stack.pop_back();
          if (!everything_ && scratch(node).needed && !stack.empty()) scratch(stack.back().node).needed = true;
          continue;
        }
        const Edge& edge = node->edges()[frame.next_edge++];
        if (!edge) continue;
        Node* const next = edge.node.get();
        Scratch& notes = enter(next);
        ++notes.dependencies;
        if (!notes.visited) {
          visit(next, notes);
        } else if (!everything_ && notes.needed) {
          scratch(node).needed = true;
        }
      }
    }
  }

  void deliver(const Edge& edge, Tensor grad) {
    const HiddenAxes* const hidden = edge.node->hidden_axes(edge.input_nr);
    if (hidden || grad->hidden) [[unlikely]]
      grad = fit_dead_axes(std::move(grad), hidden);
    Scratch& notes = scratch(edge.node.get());
    if (notes.pending.size() <= edge.input_nr)
      notes.pending.resize(std::max(edge.node->output_count(), edge.input_nr + 1));
    Tensor& slot = notes.pending[edge.input_nr];
    slot = slot.defined() ? add_gradients(std::move(slot), std::move(grad)) : std::move(grad);
  }

  static bool older(const Node* a, const Node* b) noexcept { return a->sequence() < b->sequence(); }
  void push_ready(Node* node) {
    ready_.push_back(node);
    std::ranges::push_heap(ready_, older);
  }
  Node* take_newest() {
    std::ranges::pop_heap(ready_, older);
    Node* node = ready_.back();
    ready_.pop_back();
    return node;
  }

  /// Takes the gradients that arrived at a node, one for each output. Returns the size of the largest; -1 where there
  /// is none.
  static std::int64_t take_pending(const Node* node, Scratch& notes, TensorList& grads) {
    std::int64_t largest = -1;
    for (Tensor& grad : notes.pending) {
      if (grad.defined()) largest = std::max(largest, grad.numel());
      grads.push_back(std::move(grad));
    }
    notes.pending.clear();
    if (grads.size() < node->output_count()) grads.resize(node->output_count());
    return largest;
  }

  /// Throws the error again, naming the node for whose gradient there was no memory, where it names none yet.
  [[noreturn, gnu::cold]] static void rethrow_naming(const Node& node, const OutOfMemoryError& error) {
    const std::string_view text = error.what();
    constexpr std::string_view kAllocate = "[allocate] ";
    if (!text.starts_with(kAllocate)) throw;
    const SpareMemory spare;
    fail<OutOfMemoryError>("[backward] for the gradient of ", node.name(), ", ", text.substr(kAllocate.size()));
  }

  /// Runs the node, with its hooks before and after it.
  static TensorList call(Node* node, TensorList grads) {
    if (!node->may_have_hooks()) [[likely]] {
      try {
        return node->run(std::move(grads));
      } catch (const OutOfMemoryError& error) {
        rethrow_naming(*node, error);
      }
    }
    run_node_pre_hooks(*node, grads);
    const TensorList incoming = has_post_hooks(*node) ? grads : TensorList();
    // A hook may have taken all gradients away.
    const bool any = std::ranges::any_of(grads, [](const Tensor& grad) { return grad.defined(); });
    TensorList results = any ? node->run(std::move(grads)) : TensorList();
    if (!incoming.empty()) run_node_post_hooks(*node, results, incoming);
    return results;
  }

  static void keep(Capture& capture, const TensorList& grads) {
    const Tensor& grad = grads[capture.input_nr];
    if (!capture.into) {
      capture.grad = grad;
    } else if (grad.defined() && !retains_grad(*capture.into)) {
      accumulate_grad(*capture.into, grad);  // retain_grad()'s hook has added it already
    }
  }

  void run_node(Node* node) {
    Scratch& notes = scratch(node);
    std::uint32_t capture = notes.capture;
    const bool target = notes.target;
    TensorList grads;
    const std::int64_t work = take_pending(node, notes, grads);
    const bool any = work >= 0;
    if (any && node->may_have_hooks()) [[unlikely]]
      run_tensor_hooks(*node, grads);
    for (; capture; capture = captures_[capture - 1].next) keep(captures_[capture - 1], grads);
    // Runs no node that was only captured and leads nowhere else that is needed.
    const bool leads_on = everything_ || target ||
                          std::ranges::any_of(node->edges(), [&](const Edge& e) { return e && needs(e.node.get()); });
    TensorList results;
    if (any && leads_on) {
      results = watch_ ? watch_->call(*node, std::move(grads), call) : call(node, std::move(grads));
    }
    if (!retain_graph_ && leads_on) node->release_saved();
    if (host_hooks().check_interrupt && (work >= kLongWork || ++since_check_ >= 64)) {
      since_check_ = 0;
      host_hooks().check_interrupt();
    }

    const auto& edges = node->edges();
    for (std::size_t i = 0; i < edges.size(); ++i) {
      if (!edges[i]) continue;
      Node* const next = edges[i].node.get();
      if (!everything_ && !needs(next)) continue;
      if (i < results.size() && results[i].defined()) {
        deliver(edges[i], std::move(results[i]));
      } else if (watch_) [[unlikely]] {
        watch_->missed(*node, i);
      }
      if (--scratch(next).dependencies == 0) push_ready(next);
    }
  }

  const bool retain_graph_;
  const bool create_graph_;
  /// Watches the pass; null where there is nothing to watch.
  const std::unique_ptr<PassWatch> watch_ = PassWatch::begin();
  int since_check_ = 0;
  std::vector<Root> roots_;
  std::vector<Capture> captures_;
  SmallVector<Node*, 8> ready_;
  SmallVector<Node*, 16> claimed_;
};

/// Runs a pass here, or on a fresh stack where too many are nested already.
void run_pass(Pass& pass) {
  if (depth < kMaxDepth) {
    pass.run();
    return;
  }
  const int nested = outer_depth + depth;
  const auto host_limit = host_hooks().recursion_limit;
  const std::int64_t limit = host_limit ? std::int64_t{kPassesPerHostCall} * host_limit() : kMaxNested;
  if (nested >= limit) {
    fail_recursion(str("[backward] maximum recursion depth exceeded: ", nested,
                       " backward passes are nested, each begun by a hook or a layer's backward of the one around it. "
                       "Where that is meant, sys.setrecursionlimit() allows ",
                       kPassesPerHostCall, " times as many as calls"));
  }
  run_on_fresh_stack(
      [&] {
        outer_depth = nested;
        pass.run();
      },
      "backward");
}

/// Leaves inference mode for a scope, as a pass makes ordinary tensors also where its caller is in that mode.
class OutsideInference {
 public:
  OutsideInference() noexcept : before_(std::exchange(modes().inference, false)) {}
  ~OutsideInference() { modes().inference = before_; }
  OutsideInference(const OutsideInference&) = delete;
  OutsideInference& operator=(const OutsideInference&) = delete;

 private:
  bool before_;
};

}  // namespace

void backward(std::span<const Tensor> tensors, std::span<const Tensor> grad_tensors, bool retain_graph,
              bool create_graph, std::span<const Tensor> inputs) {
  const std::vector<GradTarget> targets(inputs.begin(), inputs.end());
  backward(tensors, grad_tensors, retain_graph, create_graph, std::span<const GradTarget>(targets));
}

void backward(std::span<const Tensor> tensors, std::span<const Tensor> grad_tensors, bool retain_graph,
              bool create_graph, std::span<const GradTarget> inputs) {
  const OutsideInference scope;
  const std::vector<Edge> edges = edges_of(inputs, "backward");
  Pass pass(roots_of(tensors, grad_tensors, "backward"), retain_graph || create_graph, create_graph);
  std::vector<TensorImpl*> seen;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (dynamic_cast<const AccumulateGrad*>(edges[i].node.get())) {
      pass.target(edges[i]);
      continue;
    }
    const Tensor* const x = std::get_if<Tensor>(&inputs[i]);
    if (!x) {
      fail<ValueError>("[backward] input ", i, " is an edge to ", edges[i].node->name(),
                       ", which has no grad to add to; give the tensor, or use grad()");
    }
    if (std::ranges::find(seen, x->impl()) != seen.end()) continue;
    seen.push_back(x->impl());
    pass.capture(edges[i], x);
  }
  run_pass(pass);
}

std::vector<Tensor> grad(std::span<const Tensor> outputs, std::span<const Tensor> inputs,
                         std::span<const Tensor> grad_outputs, const GradOptions& options) {
  const std::vector<GradTarget> targets(inputs.begin(), inputs.end());
  return grad(outputs, std::span<const GradTarget>(targets), grad_outputs, options);
}

std::vector<Tensor> grad(std::span<const Tensor> outputs, std::span<const GradTarget> inputs,
                         std::span<const Tensor> grad_outputs, const GradOptions& options) {
  const OutsideInference scope;
  const std::vector<Edge> edges = edges_of(inputs, "grad");
  if (inputs.empty()) fail<ValueError>("[grad] needs at least one input");
  std::optional<BatchedGrads> batch;
  if (options.is_grads_batched) batch.emplace(outputs, grad_outputs);
  Pass pass(roots_of(outputs, batch ? batch->hidden() : grad_outputs, "grad"),
            options.retain_graph || options.create_graph, options.create_graph);
  for (const Edge& edge : edges) pass.capture(edge);
  run_pass(pass);
  const GradMode recording(options.create_graph);
  std::vector<Tensor> grads;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Tensor* const x = std::get_if<Tensor>(&inputs[i]);
    Tensor grad = std::move(pass.captures()[i].grad);
    if (grad.defined()) {
      grad = fit_dead_axes(std::move(grad), x ? (*x)->hidden.get() : nullptr);
    } else if (options.materialize_grads) {
      if (!x) fail<ValueError>("[grad] materialize_grads needs tensors as inputs, input ", i, " is an edge");
      grad = primitives().full(x->shape(), x->dtype(), x->device(), 0.0);
    } else if (!options.allow_unused) {
      fail<RuntimeError>("[grad] input ", i,
                         " is not used in the graph of the outputs; pass allow_unused=True if that is intended, or "
                         "materialize_grads=True for zeros");
    }
    grads.push_back(batch && grad.defined() ? batch->shown(grad) : std::move(grad));
  }
  return grads;
}

}  // namespace lamella::autograd
