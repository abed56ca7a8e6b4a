#include "engine/graph/executor.h"

#include <algorithm>

#include "engine/autograd/backward/backward.h"
#include "engine/core/error.h"
#include "engine/core/modes.h"

namespace lamella::graph {

using registry::Arg;

namespace {

/// Returns the positions of the values in the list of an argument, in order, as tensors.
std::vector<Tensor> gather(const std::vector<Tensor>& slots, std::span<const ValueId> ids) {
  std::vector<Tensor> tensors;
  tensors.reserve(ids.size());
  for (const ValueId id : ids) tensors.push_back(id == kNoValue ? Tensor() : slots[id]);
  return tensors;
}

/// Returns an alias of x that is a leaf of its own.
Tensor leaf(const Tensor& x) {
  Tensor y = x.detach();
  if (is_differentiable(y.dtype())) y.set_stop_gradient(false);
  return y;
}

}  // namespace

Executor::Executor(const Graph& graph, std::vector<ValueId> fetches, Options options)
    : graph_(graph),
      fetches_(std::move(fetches)),
      callers_tape_(options.callers_tape),
      sources_(graph.values().size(), false) {
  const std::vector<GraphNode>& nodes = graph_.nodes();
  std::vector<bool> needed(graph_.values().size(), false);
  for (const ValueId id : fetches_) needed.at(id) = true;
  std::vector<bool> used = needed;
  std::vector<bool> keep(nodes.size(), true);
  for (std::size_t i = nodes.size(); i-- > 0;) {
    const GraphNode& node = nodes[i];
    keep[i] = !options.prune || node.effects || node.required || (options.callers_tape && draws(node)) ||
              std::ranges::any_of(node.results, [&](ValueId id) { return id != kNoValue && needed[id]; });
    if (keep[i]) for_each_argument(node, [&](ValueId id) { needed[id] = true; });
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (!keep[i]) continue;
    steps_.push_back({.node = &nodes[i], .last_uses = {}, .changes = nodes[i].effects || draws(nodes[i])});
  }
  for (std::size_t i = steps_.size(); i-- > 0;) {
    const auto last_use = [&](ValueId id) {
      if (id == kNoValue || used[id]) return;
      used[id] = true;
      steps_[i].last_uses.push_back(id);
    };
    for_each_argument(*steps_[i].node, last_use);
    std::ranges::for_each(steps_[i].node->results, last_use);
  }
  for (ValueId id = 0; id < graph_.values().size(); ++id) {
    if (graph_.value(id).origin == GraphValue::Origin::Input && needed[id]) inputs_.push_back(id);
    if (graph_.value(id).origin == GraphValue::Origin::Captured && needed[id]) captured_.push_back(id);
  }
  plan_gradients();
  if (options.runner && recorded_steps_ == 0) runner_ = options.runner(*this);
}

Executor::~Executor() = default;

void Executor::plan_gradients() {
  for (std::size_t i = steps_.size(); i-- > 0;) {
    const GraphNode& node = *steps_[i].node;
    if (node.kind != GraphNode::Kind::Gradients) continue;
    for (const ValueId id : node.arguments[1].values) sources_[id] = true;
    steps_[i].retain_graph = recorded_steps_ > 0;
    std::vector<ValueId> results;
    std::ranges::copy_if(node.results, std::back_inserter(results), [](ValueId id) { return id != kNoValue; });
    const std::vector<bool> reached = graph_.reached_from(results);
    for (std::size_t k = i + 1; k < steps_.size(); ++k) {
      const GraphNode& later = *steps_[k].node;
      if (later.kind != GraphNode::Kind::Gradients) continue;
      steps_[i].create_graph |=
          std::ranges::any_of(later.arguments[0].values, [&](ValueId target) { return reached[target]; });
    }
    recorded_steps_ = std::max(recorded_steps_, i + 1);
  }
}

std::unique_ptr<Executor::State> Executor::make_state() const {
  auto state = std::make_unique<State>();
  state->slots.resize(graph_.values().size());
  for (const Step& step : steps_) {
    State::Call& call = state->calls.emplace_back();
    if (step.node->kind != GraphNode::Kind::Operator) continue;
    call.results.resize(step.node->list_sizes.size());
    for (const NodeArgument& argument : step.node->arguments) {
      switch (argument.kind) {
        case NodeArgument::Kind::Constant:
          call.args.push_back(argument.constant.view());
          break;
        case NodeArgument::Kind::Value:
          call.args.push_back(argument.values[0] == kNoValue ? Arg() : Arg(state->slots[argument.values[0]]));
          break;
        case NodeArgument::Kind::Values:
          call.lists.emplace_back(call.args.size(), std::vector<Tensor>());
          call.args.emplace_back();
          break;
      }
    }
  }
  return state;
}

std::unique_ptr<Executor::State> Executor::take_state() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      auto state = std::move(idle_.back());
      idle_.pop_back();
      return state;
    }
  }
  return make_state();
}

void Executor::define(State& state, ValueId id, Tensor x) const {
  const GraphValue& value = graph_.value(id);
  if (recorded_steps_ > 0 && x.defined()) {
    if (sources_[id] && x.stop_gradient()) {
      x = leaf(x);
    } else if (value.stop_gradient && !x.stop_gradient()) {
      x = x.detach();
    }
  }
  state.slots[id] = std::move(x);
}

void Executor::feed(State& state, std::span<const Tensor> feeds) const {
  if (feeds.size() != inputs_.size())
    fail<ValueError>("[", graph_.name, "] takes ", inputs_.size(), " inputs, got ", feeds.size());
  for (std::size_t i = 0; i < feeds.size(); ++i) {
    const GraphValue& value = graph_.value(inputs_[i]);
    if (!feeds[i].defined()) fail<ValueError>("[", graph_.name, "] the input '", value.name, "' was not fed");
    if (feeds[i].dtype() != value.type.dtype) {
      fail<TypeError>("[", graph_.name, "] the input '", value.name, "' is ", value.type.str(), ", got ",
                      lamella::describe(feeds[i]));
    }
    if (!value.type.admits(feeds[i])) {
      fail<ValueError>("[", graph_.name, "] the input '", value.name, "' is ", value.type.str(), ", got ",
                       lamella::describe(feeds[i]));
    }
    const bool cut = !callers_tape_ && value.stop_gradient && !feeds[i].stop_gradient();
    define(state, inputs_[i], cut ? feeds[i].detach() : feeds[i]);
  }
  for (const ValueId id : captured_) define(state, id, graph_.value(id).captured);
}

std::vector<Tensor> Executor::run(std::span<const Tensor> feeds, Failure& failure) {
  std::unique_ptr<State> state = take_state();
  feed(*state, feeds);
  for (std::size_t i = 0; i < steps_.size();) {
    const std::size_t next = runner_ ? runner_->run(*state, i, failure) : i;
    if (next > i) {
      i = next;
      continue;
    }
    run_described(*state, i, failure);
    for (const ValueId id : steps_[i++].last_uses) state->slots[id] = Tensor();
  }
  std::vector<Tensor> fetched = gather(state->slots, fetches_);
  std::ranges::fill(state->slots, Tensor());
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(state));
  return fetched;
}

void Executor::run_described(State& state, std::size_t at, Failure& failure) const {
  const autograd::GradMode mode(records(at));
  failure.changed |= steps_[at].changes;
  try {
    run_step(state, at);
  } catch (...) {
    failure.node = describe(*steps_[at].node);
    throw;
  }
}

bool Executor::records(std::size_t at) const {
  return (callers_tape_ ? autograd::is_grad_enabled() : at < recorded_steps_) && !steps_[at].node->no_grad;
}

void Executor::run_step(State& state, std::size_t at) const {
  switch (steps_[at].node->kind) {
    case GraphNode::Kind::Operator:
      return run_operator(state, at);
    case GraphNode::Kind::Function:
      return run_function(state, at);
    case GraphNode::Kind::Gradients:
      return run_gradients(state, at);
  }
}

void Executor::keep_result(State& state, const GraphNode& node, std::size_t k, Tensor x) const {
  const ValueId id = node.results[k];
  if (id == kNoValue) return;
  const GraphValue& value = graph_.value(id);
  if (x.defined() && !value.type.admits(x)) {
    fail<ValueError>("[", graph_.name, "] ", describe(node), " gave ", lamella::describe(x), " as '", value.name,
                     "', which is ", value.type.str());
  }
  define(state, id, std::move(x));
}

void Executor::run_operator(State& state, std::size_t at) const {
  const GraphNode& node = *steps_[at].node;
  State::Call& call = state.calls[at];
  for (auto& [position, tensors] : call.lists) {
    tensors = gather(state.slots, node.arguments[position].values);
    call.args[position] = Arg(std::span<const Tensor>(tensors));
  }
  if (node.op) node.op->call(call.args.data(), call.results.data());
  for (auto& [position, tensors] : call.lists) tensors.clear();
  std::size_t next = 0;
  for (std::size_t k = 0; k < call.results.size(); ++k) {
    registry::Value result = std::move(call.results[k]);
    if (node.list_sizes[k] < 0) {
      keep_result(state, node, next++, result.is_none() ? Tensor() : result.take_tensor());
      continue;
    }
    const auto tensors = result.tensors();
    if (static_cast<std::int64_t>(tensors.size()) != node.list_sizes[k]) {
      fail<ValueError>("[", graph_.name, "] ", describe(node), " gave a list of ", tensors.size(),
                       " tensors; the graph was made for ", node.list_sizes[k]);
    }
    for (const Tensor& x : tensors) keep_result(state, node, next++, x);
  }
}

void Executor::run_function(State& state, std::size_t at) const {
  const GraphNode& node = *steps_[at].node;
  std::vector<Tensor> results = node.function(gather(state.slots, node.arguments[0].values));
  if (results.size() != node.results.size()) {
    fail<ValueError>("[", graph_.name, "] ", describe(node), " returned ", results.size(), " tensors, its node has ",
                     node.results.size(), " results");
  }
  for (std::size_t k = 0; k < results.size(); ++k) keep_result(state, node, k, std::move(results[k]));
}

void Executor::run_gradients(State& state, std::size_t at) const {
  const Step& step = steps_[at];
  const GraphNode& node = *step.node;
  const std::vector<ValueId>& targets = node.arguments[0].values;
  const std::vector<ValueId>& inputs = node.arguments[1].values;
  const std::vector<ValueId>& begin = node.arguments[2].values;
  // Targets that no gradient flows to at run time, as all they depend on is constant, give zeros.
  std::vector<Tensor> outputs;
  std::vector<Tensor> seeds;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const Tensor& target = state.slots[targets[i]];
    if (target.stop_gradient()) continue;
    outputs.push_back(target);
    seeds.push_back(begin.empty() || begin[i] == kNoValue ? Tensor() : state.slots[begin[i]]);
  }
  std::vector<std::size_t> kept;
  std::vector<Tensor> wanted;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (node.results[i] == kNoValue) continue;
    kept.push_back(i);
    wanted.push_back(state.slots[inputs[i]]);
  }
  if (kept.empty()) return;
  if (outputs.empty()) fail<RuntimeError>("[gradients] no target depends on a tensor that wants a gradient");
  const std::vector<Tensor> grads =
      autograd::grad(outputs, wanted, seeds,
                     {.retain_graph = step.retain_graph, .create_graph = step.create_graph, .materialize_grads = true});
  for (std::size_t i = 0; i < kept.size(); ++i) keep_result(state, node, kept[i], grads[i]);
}

}  // namespace lamella::graph
