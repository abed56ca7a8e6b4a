#include "engine/autograd/backward.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <unordered_map>

#include "engine/autograd/accumulate.h"
#include "engine/autograd/meta.h"
#include "engine/autograd/modes.h"
#include "engine/autograd/primitives.h"
#include "engine/core/error.h"
#include "engine/core/host.h"

// Note [Passes]
// A pass first walks the graph from its roots, counting for each node how many gradients will arrive, then runs nodes
// whose count has reached zero, the most recently recorded first. Its notes lie in the nodes: a pass claims each node
// it reaches by writing its number there, and keeps notes in a table of its own for nodes that a concurrent (or
// enclosing) pass holds. Everything is on the calling thread; only a pass nested deeper than kMaxDepth runs on a fresh
// one, because each level takes some of the stack.

namespace lamella::autograd {
namespace {

constexpr int kMaxDepth = 48;
constexpr std::int64_t kLongWork = 32768;  // elements after which an interrupt is looked for at once

std::atomic<std::uint64_t> next_pass{1};

struct Capture {
  Node* node;
  std::uint32_t input_nr;
};

class Pass;
[[gnu::tls_model("initial-exec")]] thread_local Pass* current_pass = nullptr;
[[gnu::tls_model("initial-exec")]] thread_local int depth = 0;

class Pass {
 public:
  Pass(bool retain_graph, bool create_graph) : retain_graph_(retain_graph), create_graph_(create_graph) {}
  Pass(const Pass&) = delete;
  Pass& operator=(const Pass&) = delete;
  ~Pass() {
    for (Node* node : claimed_) {
      node->scratch = Scratch();
      node->claimed_by.store(0, std::memory_order_release);
    }
  }

  void add_root(Edge edge, Tensor grad) { roots_.push_back({std::move(edge), std::move(grad)}); }
  /// Restricts the pass to what these need, and keeps their gradients.
  void capture(std::span<const Edge> inputs) {
    for (const Edge& edge : inputs) {
      captures_.push_back({edge.node.get(), edge.input_nr});
      captured_.emplace_back();
    }
  }
  std::vector<Tensor>& captured() { return captured_; }

  bool needs(Node* node) {
    if (node->claimed_by.load(std::memory_order_relaxed) == id_) return node->scratch.needed;
    const auto found = overflow_.find(node);
    return found != overflow_.end() && found->second.needed;
  }

  void run() {
    Pass* const outer = std::exchange(current_pass, this);
    ++depth;
    struct Leave {
      Pass* outer;
      Modes modes_before = modes();
      ~Leave() {
        current_pass = outer;
        --depth;
        modes() = modes_before;
      }
    } const leave{outer};
    modes() = Modes{.grad_enabled = create_graph_};
    explore();
    for (Root& root : roots_) deliver(root.edge, std::move(root.grad));
    for (Root& root : roots_) make_ready_if_root(root.edge.node.get());
    while (!ready_.empty()) run_node(take_newest());
  }

 private:
  struct Root {
    Edge edge;
    Tensor grad;
  };

  /// The notes on a node: in the node where this pass holds it, in the table otherwise.
  Scratch& scratch(Node* node) {
    if (node->claimed_by.load(std::memory_order_relaxed) == id_) return node->scratch;
    return overflow_[node];
  }

  /// Begins notes on a node; false where this pass has some already.
  bool enter(Node* node) {
    // Notes in the table stay there, also after the other pass has let go of the node.
    if (holds(node)) return false;
    std::uint64_t holder = 0;
    if (node->claimed_by.compare_exchange_strong(holder, id_, std::memory_order_acquire)) {
      claimed_.push_back(node);
    } else {
      overflow_.try_emplace(node);
    }
    return true;
  }

  /// Counts dependencies and finds the nodes on a path to a capture, depth first without recursion.
  void explore() {
    struct Frame {
      Node* node;
      std::size_t next_edge;
    };
    const bool everything = captures_.empty();
    std::vector<Frame> stack;
    const auto visit = [&](Node* node) {
      if (!enter(node)) return;
      Scratch& notes = scratch(node);
      notes.needed = everything;
      for (const Capture& c : captures_) {
        if (c.node == node) notes.needed = notes.captured = true;
      }
      stack.push_back({node, 0});
    };
    for (const Root& root : roots_) {
      visit(root.edge.node.get());
      while (!stack.empty()) {
        Frame& frame = stack.back();
        Node* const node = frame.node;
        if (frame.next_edge == node->edges().size()) {
          stack.pop_back();
          if (!everything && scratch(node).needed && !stack.empty()) scratch(stack.back().node).needed = true;
          continue;
        }
        const Edge& edge = node->edges()[frame.next_edge++];
        if (!edge) continue;
        Node* const next = edge.node.get();
        const bool seen = holds(next);
        if (!seen) visit(next);
        Scratch& notes = scratch(next);
        ++notes.dependencies;
        if (seen && !everything && notes.needed) scratch(node).needed = true;
      }
    }
  }

  bool holds(Node* node) {
    return node->claimed_by.load(std::memory_order_relaxed) == id_ || (!overflow_.empty() && overflow_.contains(node));
  }

  void deliver(const Edge& edge, Tensor grad) {
    Scratch& notes = scratch(edge.node.get());
    if (notes.pending.size() <= edge.input_nr)
      notes.pending.resize(std::max(edge.node->output_count(), edge.input_nr + 1));
    Tensor& slot = notes.pending[edge.input_nr];
    if (!slot.defined()) {
      slot = std::move(grad);
    } else {
      slot = add_gradients(std::move(slot), std::move(grad));
    }
  }

  void make_ready_if_root(Node* node) {
    // A root that other roots lead to waits for them; one named twice is queued once.
    if (scratch(node).dependencies == 0 && std::ranges::find(ready_, node) == ready_.end()) push_ready(node);
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

  static void run_hooks(const HookList& hooks, TensorList& grads) {
    const auto entries = hooks.entries();
    if (!entries) return;
    for (const HookList::Entry& entry : *entries) {
      Tensor& grad = grads[entry.output_nr];
      if (!grad.defined()) continue;
      if (Tensor changed = entry.hook(grad); changed.defined()) {
        if (changed.shape() != grad.shape() || changed.device() != grad.device()) {
          fail<ValueError>("[register_hook] a hook returned ", describe(changed), " for a gradient that is ",
                           describe(grad));
        }
        grad = std::move(changed);
      }
    }
  }

  void keep_captured(Node* node, const TensorList& grads) {
    for (std::size_t i = 0; i < captures_.size(); ++i) {
      if (captures_[i].node == node) captured_[i] = grads[captures_[i].input_nr];
    }
  }

  void run_node(Node* node) {
    Scratch& notes = scratch(node);
    const bool captured = notes.captured;
    TensorList grads;
    bool any = false;
    std::int64_t work = 0;
    for (Tensor& grad : notes.pending) {
      if (grad.defined()) {
        any = true;
        work = std::max(work, grad.numel());
      }
      grads.push_back(std::move(grad));
    }
    notes.pending.clear();
    if (grads.size() < node->output_count()) grads.resize(node->output_count());

    TensorList results;
    if (any) {
      if (const auto hooks = node->tensor_hooks()) run_hooks(*hooks, grads);
      if (captured) keep_captured(node, grads);
    }
    // A node that was only captured, and leads nowhere else that is needed, does not run.
    const bool leads_on = captures_.empty() ||
                          std::ranges::any_of(node->edges(), [&](const Edge& e) { return e && needs(e.node.get()); });
    if (any && leads_on) {
      results = node->run(std::move(grads));
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
      if (!captures_.empty() && !needs(next)) continue;
      if (i < results.size() && results[i].defined()) deliver(edges[i], std::move(results[i]));
      if (--scratch(next).dependencies == 0) push_ready(next);
    }
  }

  const std::uint64_t id_ = next_pass.fetch_add(1, std::memory_order_relaxed);
  const bool retain_graph_;
  const bool create_graph_;
  int since_check_ = 0;
  std::vector<Root> roots_;
  std::vector<Capture> captures_;
  std::vector<Tensor> captured_;
  std::vector<Node*> ready_;
  std::vector<Node*> claimed_;
  std::unordered_map<Node*, Scratch> overflow_;
};

/// Runs a pass here, or on a thread with a fresh stack where too many are nested already.
void run_pass(Pass& pass) {
  if (depth < kMaxDepth) {
    pass.run();
    return;
  }
  std::exception_ptr error;
  const auto release = host_hooks().release;
  void* const host_state = release ? release() : nullptr;
  std::thread([&] {
    try {
      pass.run();
    } catch (...) {
      error = std::current_exception();
    }
  }).join();
  if (host_state) host_hooks().restore(host_state);
  if (error) std::rethrow_exception(error);
}

Tensor initial_gradient(const Tensor& output, const Tensor& given, const char* op) {
  if (given.defined()) {
    if (given.shape() != output.shape()) {
      fail<ValueError>("[", op, "] the gradient's shape ", given.shape(), " differs from the tensor's, ",
                       output.shape());
    }
    if (given.device() != output.device()) {
      fail<RuntimeError>("[", op, "] the gradient is on ", given.device(), ", the tensor on ", output.device());
    }
    return given.dtype() == output.dtype() ? given : primitives().cast(given, output.dtype());
  }
  if (output.numel() != 1) {
    fail<RuntimeError>("[", op, "] a gradient must be given for a tensor with more than one element, this one is ",
                       output.shape());
  }
  return primitives().full(output.shape(), output.dtype(), output.device(), 1.0);
}

void add_roots(Pass& pass, std::span<const Tensor> outputs, std::span<const Tensor> grads, const char* op) {
  if (!grads.empty() && grads.size() != outputs.size()) {
    fail<ValueError>("[", op, "] got ", outputs.size(), " tensors and ", grads.size(), " gradients");
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].defined()) fail<ValueError>("[", op, "] tensor ", i, " is undefined");
    Edge edge = gradient_edge(outputs[i]);
    if (!edge) {
      fail<RuntimeError>(
          "[", op, "] tensor ", i,
          " has stop_gradient=True and was not computed from a tensor that wants a gradient: there is nothing to "
          "differentiate");
    }
    pass.add_root(std::move(edge), initial_gradient(outputs[i], grads.empty() ? Tensor() : grads[i], op));
  }
}

}  // namespace

bool is_needed(const Edge& edge) noexcept {
  if (!edge) return false;
  return !current_pass || current_pass->needs(edge.node.get());
}

void backward(std::span<const Tensor> tensors, std::span<const Tensor> grad_tensors, bool retain_graph,
              bool create_graph) {
  Pass pass(retain_graph || create_graph, create_graph);
  add_roots(pass, tensors, grad_tensors, "backward");
  run_pass(pass);
}

std::vector<Tensor> grad(std::span<const Tensor> outputs, std::span<const Tensor> inputs,
                         std::span<const Tensor> grad_outputs, const GradOptions& options) {
  std::vector<Edge> edges;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].defined()) fail<ValueError>("[grad] input ", i, " is undefined");
    Edge edge = gradient_edge(inputs[i]);
    if (!edge) fail<RuntimeError>("[grad] input ", i, " has stop_gradient=True");
    edges.push_back(std::move(edge));
  }
  if (inputs.empty()) fail<ValueError>("[grad] needs at least one input");
  Pass pass(options.retain_graph || options.create_graph, options.create_graph);
  add_roots(pass, outputs, grad_outputs, "grad");
  pass.capture(edges);
  run_pass(pass);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!pass.captured()[i].defined() && !options.allow_unused) {
      fail<RuntimeError>("[grad] input ", i,
                         " is not used in the graph of the outputs; pass allow_unused=True if that is intended");
    }
  }
  return std::move(pass.captured());
}

}  // namespace lamella::autograd
