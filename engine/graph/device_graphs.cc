#include "engine/graph/device_graphs.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <utility>

#include "engine/autograd/backward/backward.h"
#include "engine/autograd/graph/accumulate.h"
#include "engine/autograd/graph/meta.h"
#include "engine/core/error.h"
#include "engine/core/modes.h"
#include "engine/core/physical_layout.h"
#include "engine/runtime/cudnn_setting.h"
#include "engine/runtime/deterministic.h"
#include "engine/runtime/graphs.h"
#include "engine/runtime/matmul_precision.h"
#include "engine/runtime/streams.h"

namespace lamella::graph {
namespace {

/// Runs of one kind before it is captured: libraries are loaded, and tables and programs made.
constexpr int kRunsBefore = 2;
/// Graphs of one region, for different kinds of inputs.
constexpr std::size_t kMostCaptures = 8;
/// Steps for which a graph pays.
constexpr std::size_t kFewestSteps = 2;
/// Alignment by which kernels are chosen, in bytes.
constexpr std::uintptr_t kAlignment = 64;

/// A reason to run steps one by one.
class Refusal : public RuntimeError {
 public:
  using RuntimeError::RuntimeError;
};

std::uintptr_t misalignment(const Tensor& x) { return reinterpret_cast<std::uintptr_t>(x->data) % kAlignment; }

/// Returns a tensor of x's layout on new memory, off the tape. Where `aligned` is false its address is as far from an
/// aligned one as x's.
Tensor room_for(const Tensor& x, bool aligned) {
  const auto item = static_cast<std::int64_t>(item_size(x.dtype()));
  const std::int64_t shift = aligned ? 0 : static_cast<std::int64_t>(misalignment(x)) / item;
  if (x.is_contiguous() && shift == 0) return empty_like(x);
  const MemoryExtent extent(*x.impl());
  const std::int64_t before = (x->data - extent.low) / item;
  // The first element of x, not the first of its memory, is the one whose address counts.
  const std::int64_t align = static_cast<std::int64_t>(kAlignment) / item;
  const std::int64_t start = align > 0 ? (shift - before % align + align) % align : 0;
  const Tensor room = empty({start + (extent.high - extent.low) / item}, x.dtype(), x.device());
  return make_view(room, x.shape(), x.strides(), start + before);
}

/// Copies the memory that x shows into a tensor of its layout.
void copy_memory(const Tensor& to, const Tensor& x) {
  if (x.numel() == 0) return;
  const MemoryExtent from(*x.impl());
  const MemoryExtent into(*to.impl());
  graph_runtime(x.device()).copy(x.device(), into.low, from.low, static_cast<std::size_t>(from.high - from.low));
}

/// True if something of the user's wants to know of gradients that come to a leaf.
bool has_hooks(const Tensor& leaf) {
  autograd::AutogradMeta* const meta = autograd::peek_meta(leaf);
  if (!meta) return false;
  Ref<Node> node;
  {
    const std::lock_guard lock(meta->lock);
    if (const autograd::MetaExtras* const extras = meta->extras.get()) {
      if (extras->hooks && extras->hooks->entries()) return true;
      if (extras->accumulated_hooks && extras->accumulated_hooks->entries()) return true;
      if (!extras->tangents.empty()) return true;
    }
    node = meta->weak_node.lock();
  }
  return node && node->may_have_hooks();
}

/// Stands on the tape for what a launched pass has used up.
class UsedUp final : public Node {
 public:
  std::string name() const override { return "CUDAGraph"; }
  TensorList run(TensorList) override {
    fail<RuntimeError>(
        "[backward] the gradients of this tensor were computed within a CUDA graph of a compiled function, which keeps "
        "no tape for another pass: call backward() there with retain_graph=True, or compile without cuda_graphs");
  }
};

void put_on_used_tape(const Tensor& x) { autograd::make_meta(x).grad_fn = Ref<Node>::adopt(new UsedUp); }

}  // namespace

/// A region on one kind of inputs.
struct DeviceGraphs::Capture {
  struct Result {
    ValueId id;
    Tensor value;
    bool on_tape;
  };
  /// Writes in place into a tensor that the program refers to.
  struct Write {
    ValueId id;
    std::uint32_t count;
    WriteRecord last;
  };

  explicit Capture(Signature made_for) : signature(std::move(made_for)) {}
  ~Capture() { drop(); }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  /// Gives up the graph and its memory.
  void drop() noexcept {
    inputs.clear();
    results.clear();
    grads.clear();
    writes.clear();
    if (pool) graph_runtime(device).destroy(device, std::exchange(graph, nullptr), std::exchange(pool, nullptr));
  }

  Signature signature;
  int runs = 0;
  std::string reason;
  Device device;
  void* pool = nullptr;
  void* graph = nullptr;
  std::int64_t launches = 0;
  /// The graph's own memory for what a run gives it.
  std::vector<std::pair<ValueId, Tensor>> inputs;
  std::vector<Result> results;
  /// Gradients of leaves, by the values that these are.
  std::vector<std::pair<ValueId, Tensor>> grads;
  std::vector<Write> writes;
};

struct DeviceGraphs::Region {
  std::size_t begin = 0;
  std::size_t end = 0;
  /// Values from before that the steps read.
  std::vector<ValueId> reads;
  /// Values that the steps compute and others need.
  std::vector<ValueId> results;
  /// Steps of the host language that run before the others.
  std::vector<std::size_t> ahead;
  /// The last step, if it computes gradients.
  std::optional<std::size_t> pass;
  std::size_t steps = 0;
  bool changes = false;
  std::atomic<bool> busy = false;
  std::vector<std::unique_ptr<Capture>> captures;

  /// Holds a region while one run uses it. A step may run code that calls the same function again, so that it is no
  /// mutex.
  class Use {
   public:
    explicit Use(std::atomic<bool>& busy) noexcept : busy_(busy), owns_(!busy.exchange(true)) {}
    ~Use() {
      if (owns_) busy_.store(false);
    }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    explicit operator bool() const noexcept { return owns_; }

   private:
    std::atomic<bool>& busy_;
    const bool owns_;
  };
};

// Regions

DeviceGraphs::DeviceGraphs(const Executor& executor, const IsKnown& is_known)
    : executor_(executor), begins_(executor.steps_.size(), nullptr) {
  for (const ExecutorStep& step : executor.steps_) reasons_.push_back(reason_against(*step.node, is_known));
  const auto goes_ahead = [&](std::size_t i) {
    const GraphNode& node = *executor.steps_[i].node;
    return node.commutes && node.results.empty() && node.arguments[0].values.empty();
  };
  for (std::size_t i = 0; i < reasons_.size();) {
    if (!reasons_[i].empty()) {
      ++i;
      continue;
    }
    std::size_t end = i;  // behind the last step that is captured
    for (std::size_t k = i; k < reasons_.size() && (reasons_[k].empty() || goes_ahead(k)); ++k) {
      if (reasons_[k].empty()) end = k + 1;
      if (executor.steps_[k].node->pass && reasons_[k].empty()) break;
    }
    add_region(i, end);
    i = end;
  }
}

DeviceGraphs::~DeviceGraphs() = default;

std::string DeviceGraphs::reason_against(const GraphNode& node, const IsKnown& is_known) const {
  const auto of_operator = [&](const GraphNode& one) -> std::string {
    return one.op && is_known(*one.op) ? "" : "it is no built-in operator, so that its code runs in every call";
  };
  switch (node.kind) {
    case GraphNode::Kind::Operator:
      return of_operator(node);
    case GraphNode::Kind::Gradients:
      return "it is a node of a program";
    case GraphNode::Kind::Function:
      break;
  }
  if (node.host_code) {
    return node.pass && node.pass->accumulates && node.results.empty() ? "" : "it runs Python code in every call";
  }
  if (!node.layer) return {};
  for (const Graph* const part : {&node.layer->forward, &node.layer->backward}) {
    for (const GraphValue& value : part->values()) {
      if (value.origin == GraphValue::Origin::Captured) return "it is a layer that refers to a tensor";
    }
    for (const GraphNode& inner : part->nodes()) {
      if (std::string reason = of_operator(inner); !reason.empty()) return reason;
    }
  }
  return {};
}

void DeviceGraphs::add_region(std::size_t begin, std::size_t end) {
  const std::vector<ExecutorStep>& steps = executor_.steps_;
  auto region = std::make_unique<Region>();
  region->begin = begin;
  region->end = end;
  std::vector<bool> own(executor_.graph().values().size(), false);
  std::vector<bool> read(own.size(), false);
  for (std::size_t i = begin; i < end; ++i) {
    const GraphNode& node = *steps[i].node;
    region->changes |= steps[i].changes;
    if (!reasons_[i].empty()) {
      region->ahead.push_back(i);
      continue;
    }
    ++region->steps;
    if (node.pass && node.host_code) region->pass = i;
    for_each_argument(node, [&](ValueId id) {
      if (!own[id] && !read[id]) region->reads.push_back(id);
      read[id] = true;
    });
    for (const ValueId id : node.results) {
      if (id != kNoValue) own[id] = true;
    }
  }
  if (region->steps < kFewestSteps) {
    for (std::size_t i = begin; i < end; ++i) {
      if (reasons_[i].empty()) reasons_[i] = "it stands alone";
    }
    return;
  }
  std::vector<bool> needed(own.size(), false);
  for (const ValueId id : executor_.fetches_) needed[id] = true;
  for (std::size_t i = end; i < steps.size(); ++i) {
    for_each_argument(*steps[i].node, [&](ValueId id) { needed[id] = true; });
  }
  for (ValueId id = 0; id < own.size(); ++id) {
    if (own[id] && needed[id]) region->results.push_back(id);
  }
  begins_[begin] = region.get();
  regions_.push_back(std::move(region));
}

bool DeviceGraphs::is_captured_value(ValueId id) const {
  return executor_.graph().value(id).origin == GraphValue::Origin::Captured;
}

bool DeviceGraphs::is_settled() const noexcept {
  return std::ranges::all_of(regions_, [](const auto& region) {
    return !region->captures.empty() && std::ranges::all_of(region->captures, [](const auto& capture) {
      return capture->graph || !capture->reason.empty();
    });
  });
}

std::vector<DeviceGraphReport> DeviceGraphs::reports() const {
  std::vector<DeviceGraphReport> all;
  for (std::size_t i = 0; i < begins_.size();) {
    Region* const region = begins_[i];
    DeviceGraphReport report{.first = describe(*executor_.steps_[i].node), .last = {}, .reason = reasons_[i]};
    if (!region) {
      all.push_back(std::move(report));
      ++i;
      continue;
    }
    i = region->end;
    report.last = describe(*executor_.steps_[i - 1].node);
    report.steps = region->steps;
    if (const Region::Use use(region->busy); use) {
      for (const auto& capture : region->captures) {
        report.graphs += capture->graph ? 1 : 0;
        report.launches += capture->launches;
        if (report.reason.empty()) report.reason = capture->reason;
      }
    } else {
      report.reason = "another thread uses the graph";
    }
    all.push_back(std::move(report));
    for (const std::size_t ahead : region->ahead) {
      all.push_back({.first = describe(*executor_.steps_[ahead].node), .last = {}, .reason = reasons_[ahead]});
    }
  }
  return all;
}

// Runs

DeviceGraphs::Signature DeviceGraphs::signature_of(const Region& region, const ExecutorState& state) const {
  Signature words;
  words.push_back(are_deterministic_algorithms_enabled());
  words.push_back(static_cast<std::uint64_t>(float32_matmul_precision()));
  words.push_back(is_cudnn_enabled());
  std::optional<Device> device;
  for (const ValueId id : region.reads) {
    const Tensor& x = state.slots[id];
    if (!x.defined()) {
      words.push_back(0);
      continue;
    }
    if (device != x.device() && has_graph_runtime(x.device())) {
      device = x.device();
      words.push_back(reinterpret_cast<std::uintptr_t>(stream_runtime(*device).current(*device)));
    }
    if (is_captured_value(id)) continue;  // lies where it is as long as it lives
    words.push_back(1 + static_cast<std::uint64_t>(x.dtype()));
    words.push_back(static_cast<std::uint64_t>(x.device().type) << 32 | static_cast<std::uint32_t>(x.device().index));
    words.push_back((x.stop_gradient() ? 0u : 1u) | (x.is_leaf() ? 2u : 0u) | (x.ndim() << 2));
    words.push_back(misalignment(x));
    for (const std::int64_t size : x.shape()) words.push_back(static_cast<std::uint64_t>(size));
    for (const std::int64_t stride : x.strides()) words.push_back(static_cast<std::uint64_t>(stride));
  }
  return words;
}

DeviceGraphs::Capture* DeviceGraphs::find(Region& region, const ExecutorState& state) const {
  Signature signature = signature_of(region, state);
  const auto found =
      std::ranges::find(region.captures, signature, [](const auto& one) -> const Signature& { return one->signature; });
  if (found != region.captures.end()) return found->get();
  if (region.captures.size() == kMostCaptures) return nullptr;
  return region.captures.emplace_back(std::make_unique<Capture>(std::move(signature))).get();
}

std::size_t DeviceGraphs::run(ExecutorState& state, std::size_t at, Executor::Failure& failure) {
  Region* const region = begins_[at];
  if (!region || is_capturing()) return at;
  const Region::Use use(region->busy);
  if (!use) return at;
  Capture* const found = find(*region, state);
  if (!found || !found->reason.empty()) return at;
  if (!found->graph && ++found->runs <= kRunsBefore) return at;
  if (!may_launch(*region, *found, state)) return at;
  const bool now = !found->graph;
  if (now) {
    try {
      capture(*region, *found, state);
    } catch (const Error& error) {
      found->drop();
      found->reason = error.what();
      return at;
    } catch (...) {
      found->drop();
      throw;
    }
    if (!may_launch(*region, *found, state)) return at;  // only now it is known what is written
  }
  launch(*region, *found, state, failure);
  if (!now) count_writes(*found);  // those of a capture were counted while it was made
  return region->end;
}

bool DeviceGraphs::may_launch(const Region& region, const Capture& capture, const ExecutorState& state) const {
  for (const ValueId id : region.reads) {
    const Tensor& x = state.slots[id];
    if (!x.defined()) continue;
    if (region.pass && !x.stop_gradient() && x.is_leaf() && has_hooks(x)) return false;
    // What is copied before the launch must not be what the launch writes.
    if (is_captured_value(id)) continue;
    for (const Capture::Write& write : capture.writes) {
      if (MemoryExtent(*x.impl()).meets(MemoryExtent(*state.slots[write.id].impl()))) return false;
    }
  }
  return true;
}

// Captures

void DeviceGraphs::capture(const Region& region, Capture& capture, const ExecutorState& state) const {
  const std::unique_ptr<ExecutorState> scratch = executor_.make_state();
  std::optional<Device> device;
  for (const ValueId id : region.reads) {
    const Tensor& x = state.slots[id];
    if (!x.defined()) continue;
    if (!has_graph_runtime(x.device())) fail<Refusal>("it works on ", x.device(), ", which has no graphs");
    if (device && *device != x.device()) fail<Refusal>("it works on several devices");
    device = x.device();
    if (x->hidden) fail<Refusal>("vmap hides an axis of a tensor");
    if (autograd::is_grad_enabled() && !x.stop_gradient() && !x.is_leaf())
      fail<Refusal>("gradients flow on from what it reads");
    if (is_captured_value(id)) {
      scratch->slots[id] = x;
      continue;
    }
    const Tensor room = room_for(x, false);
    if (autograd::is_grad_enabled() && !x.stop_gradient()) room.set_stop_gradient(false);
    capture.inputs.emplace_back(id, room);
    scratch->slots[id] = room;
  }
  if (!device) fail<Refusal>("it reads no tensor");
  capture.device = *device;
  std::vector<std::pair<ValueId, Tensor>> given;
  std::vector<std::uint32_t> versions;
  for (const ValueId id : region.reads) {
    if (!scratch->slots[id].defined()) continue;
    given.emplace_back(id, scratch->slots[id]);
    versions.push_back(scratch->slots[id].version());
  }
  GraphRuntime& runtime = graph_runtime(*device);
  capture.pool = runtime.begin(*device, nullptr);
  try {
    const CallCapture scope;
    run_steps(region, capture, *scratch);
    keep_results(region, capture, *scratch);
    for (std::size_t i = 0; i < given.size(); ++i) {
      const auto& [id, x] = given[i];
      if (x.version() == versions[i]) continue;
      if (!is_captured_value(id)) fail<Refusal>("it writes in place to what it is given");
      const auto is_noted = [&](const Capture::Write& write) {
        return scratch->slots[write.id]->storage == x->storage;
      };
      if (std::ranges::any_of(capture.writes, is_noted)) continue;  // two show the same memory
      capture.writes.push_back({id, x.version() - versions[i], x->storage->last_write()});
    }
  } catch (...) {
    try {
      capture.graph = runtime.end(*device);
    } catch (const Error&) {
      // The exception that is on its way says more.
    }
    throw;
  }
  capture.graph = runtime.end(*device);
}

void DeviceGraphs::run_steps(const Region& region, Capture& capture, ExecutorState& scratch) const {
  const auto is_given = [&](const Tensor& x) {
    return std::ranges::any_of(region.reads, [&](ValueId id) {
      return scratch.slots[id].defined() && scratch.slots[id]->storage == x->storage;
    });
  };
  for (std::size_t i = region.begin; i < region.end; ++i) {
    if (!reasons_[i].empty()) continue;  // runs ahead
    const GraphNode& node = *executor_.steps_[i].node;
    if (region.pass == i && node.pass) {
      run_pass(region, node.arguments[0].values, *node.pass, capture, scratch);
      break;
    }
    const bool recorded = executor_.records(i);
    if (node.op && node.op->schema().is_mutable() && recorded) {
      const auto& arguments = node.op->schema().arguments;
      bool on_tape = false;
      for_each_argument(node, [&](ValueId id) { on_tape |= !scratch.slots[id].stop_gradient(); });
      for (std::size_t k = 0; on_tape && k < arguments.size(); ++k) {
        if (!arguments[k].is_written()) continue;
        for (const ValueId id : node.arguments[k].values) {
          if (id != kNoValue && is_given(scratch.slots[id]))
            fail<Refusal>("it gives a tensor from outside another place on the tape");
        }
      }
    }
    {
      const autograd::GradMode mode(recorded);
      executor_.run_step(scratch, i);
    }
    for (const ValueId id : node.results) {
      if (id != kNoValue && scratch.slots[id].defined() && scratch.slots[id].device() != capture.device)
        fail<Refusal>("it works on several devices");
    }
    for (const ValueId id : executor_.steps_[i].last_uses) {
      if (std::ranges::find(region.reads, id) == region.reads.end()) scratch.slots[id] = Tensor();
    }
  }
}

void DeviceGraphs::run_pass(const Region& region, const std::vector<ValueId>& ids, const BackwardPass& pass,
                            Capture& capture, ExecutorState& scratch) const {
  std::vector<Tensor> targets;
  std::vector<Tensor> seeds;
  for (std::size_t i = 0; i < pass.targets.size(); ++i) {
    const Tensor& target = scratch.slots[ids.at(pass.targets[i])];
    if (target.stop_gradient()) fail<Refusal>("a pass begins at a tensor off the tape");
    targets.push_back(target);
    const std::optional<std::size_t>& seed = pass.seeds.at(i);
    seeds.push_back(seed ? scratch.slots[ids.at(*seed)] : Tensor());
  }
  std::vector<Tensor> wanted;
  std::vector<ValueId> leaves;
  for (const ValueId id : region.reads) {
    const Tensor& x = scratch.slots[id];
    if (!x.defined() || x.stop_gradient()) continue;
    if (std::ranges::any_of(wanted, [&](const Tensor& y) { return y.same(x); })) continue;
    wanted.push_back(x);
    leaves.push_back(id);
  }
  // A tensor that the pass does not reach keeps its tape.
  for (const ValueId id : region.results) {
    if (scratch.slots[id].defined() && !scratch.slots[id].stop_gradient()) wanted.push_back(scratch.slots[id]);
  }
  if (wanted.empty()) fail<Refusal>("no leaf wants a gradient");
  std::vector<Tensor> grads = autograd::grad(targets, wanted, seeds, {.allow_unused = true});
  for (std::size_t i = 0; i < grads.size(); ++i) {
    if (i >= leaves.size() && !grads[i].defined()) fail<Refusal>("a result is on the tape, for gradients later on");
    if (i < leaves.size() && grads[i].defined()) capture.grads.emplace_back(leaves[i], std::move(grads[i]));
  }
}

bool DeviceGraphs::is_recorded_later(const Region& region, ValueId id) const {
  for (std::size_t i = region.end; i < executor_.steps_.size(); ++i) {
    const GraphNode& node = *executor_.steps_[i].node;
    const auto has_gradient = [&](ValueId made) {
      return made != kNoValue && is_differentiable(executor_.graph().value(made).type.dtype);
    };
    const bool recorded = !node.host_code && executor_.records(i) && std::ranges::any_of(node.results, has_gradient);
    if (!node.pass && !recorded) continue;
    bool reads = false;
    for_each_argument(node, [&](ValueId read) { reads |= read == id; });
    if (reads) return true;
  }
  return false;
}

void DeviceGraphs::keep_results(const Region& region, Capture& capture, const ExecutorState& scratch) const {
  const auto shares = [](const Tensor& a, const Tensor& b) {
    return a.defined() && a->storage == b->storage && a.numel() > 0;
  };
  for (const ValueId id : region.results) {
    const Tensor& x = scratch.slots[id];
    if (!x.defined()) continue;
    const bool on_tape = !x.stop_gradient();
    if (on_tape && !region.pass) fail<Refusal>("its results are on the tape, for gradients later on");
    if (on_tape && is_recorded_later(region, id)) fail<Refusal>("gradients flow later through a result");
    if (x->hidden) fail<Refusal>("vmap hides an axis of a tensor");
    if (std::ranges::any_of(region.reads, [&](ValueId read) { return shares(scratch.slots[read], x); }))
      fail<Refusal>("a result shows memory of a tensor from outside");
    if (std::ranges::any_of(capture.results, [&](const auto& other) { return shares(other.value, x); }))
      fail<Refusal>("two results show the same memory");
    capture.results.push_back({id, make_alias(x), on_tape});
  }
}

// Launches

void DeviceGraphs::count_writes(const Capture& capture) const {
  for (const Capture::Write& write : capture.writes) {
    Storage& storage = *executor_.graph().value(write.id).captured->storage;
    for (std::uint32_t i = 0; i < write.count; ++i) storage.bump_version(write.last.op, write.last.line);
  }
}

void DeviceGraphs::launch(const Region& region, Capture& capture, ExecutorState& state,
                          Executor::Failure& failure) const {
  for (const auto& [id, room] : capture.inputs) copy_memory(room, state.slots[id]);
  for (const std::size_t at : region.ahead) executor_.run_described(state, at, failure);
  failure.changed |= region.changes;
  if (region.pass && streams_in_use()) join_streams();  // see Note [Streams in a pass]
  graph_runtime(capture.device).launch(capture.device, capture.graph);
  ++capture.launches;
  for (const Capture::Result& result : capture.results) {
    Tensor copy = room_for(result.value, true);
    copy_memory(copy, result.value);
    if (result.on_tape) put_on_used_tape(copy);
    state.slots[result.id] = std::move(copy);
  }
  {
    const autograd::InferenceMode ordinary(false);
    const autograd::NoGrad off;
    for (const auto& [id, grad] : capture.grads) {
      Tensor copy = room_for(grad, true);
      copy_memory(copy, grad);
      autograd::accumulate_grad(state.slots[id], std::move(copy));
    }
  }
  for (std::size_t i = region.begin; i < region.end; ++i) {
    for (const ValueId id : executor_.steps_[i].last_uses) state.slots[id] = Tensor();
  }
}

}  // namespace lamella::graph
