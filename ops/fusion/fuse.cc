#include "ops/fusion/fuse.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <string_view>
#include <unordered_map>

#include "ops/elementwise/list.h"
#include "ops/fusion/loss.h"
#include "ops/fusion/program.h"
#include "ops/nn/norm.h"

namespace lamella::fusion {
namespace {

using graph::Graph;
using graph::GraphNode;
using graph::kNoValue;
using graph::LayerGraphs;
using graph::NodeArgument;
using graph::ValueId;
using graph::ValueType;

/// Returns the elementwise operator that a node calls, or null: one whose arguments are all operands.
const ElementwiseOp* elementwise_of(const GraphNode& node) {
  static const auto* const known = [] {
    auto* all = new std::unordered_map<std::string_view, const ElementwiseOp*>;
    ElementwiseOps::for_each([&]<class Op> {
      const ElementwiseOp& op = elementwise_op<Op>();
      // An operator with settings checks them in its call.
      if (op.info->settings[0].operand < 0) all->emplace(op.info->name, &op);
    });
    return all;
  }();
  if (node.kind != GraphNode::Kind::Operator || !node.name.starts_with("lamella::")) return nullptr;
  const auto found = known->find(std::string_view(node.name).substr(9));
  if (found == known->end() || node.arguments.size() != static_cast<std::size_t>(found->second->inputs)) return nullptr;
  return found->second;
}

/// True if a node may write to what a program reads. Norms update running statistics, which their schemas do not tell.
bool may_write(const GraphNode& node) {
  if (node.layer) return false;
  if (node.effects || node.kind != GraphNode::Kind::Operator) return true;
  return std::ranges::any_of(std::array{BatchNorm::info.name, InstanceNorm::info.name}, [&](std::string_view name) {
    return node.name.starts_with("lamella::") && std::string_view(node.name).substr(9) == name;
  });
}

/// Nodes that become one, which runs in the place of the last of them.
struct Cluster {
  std::vector<std::size_t> nodes;
  ValueType type;  // of the operands that are no masks
  bool no_grad = false;
  bool open = true;
  /// The cluster that this one was joined to, or itself.
  std::size_t joined;
};

class Fuser {
 public:
  Fuser(const Graph& graph, std::span<const ValueId> fetches, bool callers_tape)
      : graph_(graph),
        cluster_of_value_(graph.values().size(), kNone),
        asked_(graph.values().size(), false),
        read_outside_(graph.values().size(), false) {
    for (const ValueId id : fetches) read_outside_.at(id) = true;
    find_last_write(callers_tape);
    find_seeds();
    find_asked(fetches, callers_tape);
  }

  Graph run() {
    const std::vector<GraphNode>& nodes = graph_.nodes();
    cluster_of_node_.assign(nodes.size(), kNone);
    for (std::size_t i = 0; i < nodes.size(); ++i) place(i);
    find_outside_reads();
    std::vector<GraphNode> result;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const std::size_t c = cluster_of_node_[i] == kNone ? kNone : root(cluster_of_node_[i]);
      if (c == kNone || clusters_[c].nodes.size() < 2 || clusters_[c].nodes.back() < last_write_) {
        result.push_back(with_foreseen_gradient(i));
      } else if (clusters_[c].nodes.back() == i) {
        result.push_back(build(clusters_[c]));
      }
    }
    return graph_.with_nodes(std::move(result));
  }

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};

  std::size_t root(std::size_t c) const {
    while (clusters_[c].joined != c) c = clusters_[c].joined;
    return c;
  }

  bool is_mask(ValueId id) const { return graph_.value(id).type.dtype == DType::Bool; }

  /// Returns the type of a node's elements if it can be part of a program; nothing otherwise.
  std::optional<ValueType> type_of(const GraphNode& node) const {
    if ((!node.layer && !elementwise_of(node)) || graph_.value(node.results[0]).stop_gradient) return {};
    return node.layer ? type_of_layer(node) : type_of_operator(graph_, node);
  }

  /// Returns the type of all values of a layer that consists of elementwise operators alone.
  std::optional<ValueType> type_of_layer(const GraphNode& node) const {
    const LayerGraphs& layer = *node.layer;
    const ValueType& type = layer.forward.value(layer.result).type;
    if (type.shape.size() != graph_.value(node.results[0]).type.shape.size()) return {};
    for (const Graph* graph : {&layer.forward, &layer.backward}) {
      const bool fits = std::ranges::all_of(
          graph->nodes(), [&](const GraphNode& inner) { return type_of_operator(*graph, inner) == type; });
      const bool refers =
          std::ranges::any_of(graph->values(), [](const graph::GraphValue& value) { return value.captured.defined(); });
      if (!fits || refers) return {};
    }
    const auto has_type = [&](ValueId id) { return layer.forward.value(id).type == type; };
    if (!std::ranges::all_of(layer.inputs, has_type)) return {};
    ValueType outer = graph_.value(node.results[0]).type;
    for (const ValueId id : node.arguments[0].values) {
      if (graph_.value(id).type != outer) return {};
    }
    return outer;
  }

  std::optional<ValueType> type_of_operator(const Graph& in, const GraphNode& node) const {
    const ElementwiseOp* const op = elementwise_of(node);
    if (!op) return {};
    ValueType type = in.value(node.results[0]).type;
    if (op->mask_output != (type.dtype == DType::Bool)) return {};
    std::optional<DType> dtype;
    for (std::size_t k = 0; k < node.arguments.size(); ++k) {
      const NodeArgument& argument = node.arguments[k];
      if (argument.kind == NodeArgument::Kind::Constant) {
        const bool number = argument.constant.kind() == registry::Value::Kind::Scalar &&
                            argument.constant.scalar().kind() != Scalar::Kind::Complex;
        if (!number || (op->mask_input && k == 0)) return {};
        continue;
      }
      if (argument.kind != NodeArgument::Kind::Value || argument.values[0] == kNoValue) return {};
      const ValueType& given = in.value(argument.values[0]).type;
      if (!given.shape.empty() && given.shape != type.shape) return {};
      if ((given.dtype == DType::Bool) != (op->mask_input && k == 0)) return {};
      if (given.dtype == DType::Bool) continue;
      if (dtype && given.dtype != *dtype) return {};
      dtype = given.dtype;
    }
    if (!dtype || (*dtype != DType::Float32 && *dtype != DType::Float64) || type.shape.empty()) return {};
    // Other operators raise, or give their argument itself, as conj does of real numbers.
    if (!op->info->dtypes.contains(*dtype)) return {};
    if (!op->mask_output && type.dtype != *dtype) return {};
    type.dtype = *dtype;
    return type;
  }

  void close(ValueId id) {
    if (const std::size_t c = cluster_of_value_[id]; c != kNone) clusters_[root(c)].open = false;
  }

  void place(std::size_t i) {
    const GraphNode& node = graph_.nodes()[i];
    const std::optional<ValueType> type = type_of(node);
    if (!type) {
      graph::for_each_argument(node, [&](ValueId id) { close(id); });
      // Gradients ask for any value.
      if (may_write(node)) {
        for (Cluster& cluster : clusters_) cluster.open = false;
      }
      return;
    }
    std::size_t home = kNone;
    graph::for_each_argument(node, [&](ValueId id) {
      const std::size_t c = cluster_of_value_[id] == kNone ? kNone : root(cluster_of_value_[id]);
      if (c == kNone || c == home) return;
      const bool fits = clusters_[c].open && clusters_[c].type == *type && clusters_[c].no_grad == node.no_grad;
      if (!fits) {
        clusters_[c].open = false;
      } else if (home == kNone) {
        home = c;
      } else {
        join(home, c);
      }
    });
    if (home == kNone) {
      home = clusters_.size();
      clusters_.push_back({.nodes = {}, .type = *type, .no_grad = node.no_grad, .open = true, .joined = home});
    }
    clusters_[home].nodes.push_back(i);
    cluster_of_node_[i] = home;
    cluster_of_value_[node.results[0]] = home;
    if (asked_[node.results[0]] && !node.no_grad) clusters_[home].open = false;
  }

  void join(std::size_t home, std::size_t other) {
    std::vector<std::size_t> all;
    std::ranges::merge(clusters_[home].nodes, clusters_[other].nodes, std::back_inserter(all));
    clusters_[home].nodes = std::move(all);
    clusters_[other].joined = home;
  }

  void find_last_write(bool gradients) {
    for (std::size_t i = graph_.nodes().size(); i-- > 0;) {
      const GraphNode& node = graph_.nodes()[i];
      gradients |= node.kind == GraphNode::Kind::Gradients;
      if (!gradients || !node.op || !node.op->schema().is_mutable()) continue;
      last_write_ = i;
      return;
    }
  }

  /// Finds the targets of the graph's only pass, and the gradients that it begins with.
  void find_seeds() {
    const std::vector<GraphNode>& nodes = graph_.nodes();
    const auto is_pass = [](const GraphNode& node) { return node.kind == GraphNode::Kind::Gradients || node.pass; };
    if (std::ranges::count_if(nodes, is_pass) != 1) return;
    pass_ = static_cast<std::size_t>(std::ranges::find_if(nodes, is_pass) - nodes.begin());
    const GraphNode& pass = nodes[pass_];
    if (pass.pass) {
      const std::vector<ValueId>& values = pass.arguments[0].values;
      for (std::size_t i = 0; i < pass.pass->targets.size(); ++i) {
        const std::optional<std::size_t> seed = pass.pass->seeds[i];
        seed_of_.emplace(values.at(pass.pass->targets[i]), seed ? values.at(*seed) : kNoValue);
      }
      return;
    }
    const std::vector<ValueId>&targets = pass.arguments[0].values, &begin = pass.arguments[2].values;
    for (std::size_t i = 0; i < targets.size(); ++i) seed_of_.emplace(targets[i], begin.empty() ? kNoValue : begin[i]);
  }

  /// Finds the values whose own gradients may be asked for. What reads them stays outside of their program, through
  /// which gradients flow to its inputs alone.
  void find_asked(std::span<const ValueId> fetches, bool callers_tape) {
    if (callers_tape) {
      for (const ValueId id : fetches) asked_[id] = true;
    }
    for (const GraphNode& node : graph_.nodes()) {
      if (node.kind == GraphNode::Kind::Gradients) {
        for (const ValueId id : node.arguments[1].values) asked_[id] = true;
      } else if (node.kind == GraphNode::Kind::Function && !node.layer) {
        graph::for_each_argument(node, [&](ValueId id) { asked_[id] = true; });
      }
    }
  }

  /// True if gradients come to a node's results from the pass alone, and what that begins with is there before the
  /// node. `own` are the nodes, in order, that become one, which runs in the place of the last of them.
  bool is_foreseen(std::span<const std::size_t> own, std::span<const ValueId> results,
                   std::span<const ValueId> seeds) const {
    const std::vector<GraphNode>& nodes = graph_.nodes();
    const auto is_among = [](std::span<const ValueId> all, ValueId id) {
      return id != kNoValue && std::ranges::find(all, id) != all.end();
    };
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const bool is_own = std::ranges::binary_search(own, i);
      if (is_own || i > own.back()) {
        if (std::ranges::any_of(nodes[i].results, [&](ValueId id) { return is_among(seeds, id); })) return false;
      }
      if (is_own || i == pass_ || nodes[i].no_grad) continue;
      bool reads = false;
      graph::for_each_argument(nodes[i], [&](ValueId id) { reads |= is_among(results, id); });
      if (reads) return false;
    }
    return true;
  }

  /// Returns a node, as a function that computes its gradient beside it where that is possible.
  GraphNode with_foreseen_gradient(std::size_t i) const {
    const GraphNode& node = graph_.nodes()[i];
    const auto found = node.results.size() == 1 ? seed_of_.find(node.results[0]) : seed_of_.end();
    if (found == seed_of_.end() || node.no_grad) return node;
    const std::size_t own[] = {i};
    const ValueId seed[] = {found->second};
    if (!is_foreseen(own, node.results, seed)) return node;
    std::optional<graph::GraphFunction> function = foreseen_loss(node);
    if (!function) return node;
    return {.kind = GraphNode::Kind::Function,
            .name = node.name.substr(node.name.rfind(':') + 1) + "-with-gradient",
            .op = {},
            .function = std::move(*function),
            .arguments = {NodeArgument::of({node.arguments[0].values[0], node.arguments[1].values[0], found->second})},
            .results = node.results,
            .list_sizes = {},
            .effects = node.effects,
            .no_grad = false,
            .where = node.where};
  }

  /// Returns, for each of a fused node's results, the gradient that comes to it, kNoValue for none; nothing if that is
  /// not known before the node.
  std::vector<ValueId> seeds_of(const Cluster& cluster, const std::vector<ValueId>& results) const {
    std::vector<ValueId> seeds;
    for (const ValueId id : results) {
      const auto found = seed_of_.find(id);
      seeds.push_back(found == seed_of_.end() ? kNoValue : found->second);
    }
    const bool any = std::ranges::any_of(seeds, [](ValueId seed) { return seed != kNoValue; });
    if (!any || cluster.no_grad || !is_foreseen(cluster.nodes, results, seeds)) return {};
    return seeds;
  }

  void find_outside_reads() {
    const std::vector<GraphNode>& nodes = graph_.nodes();
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const std::size_t here = cluster_of_node_[i] == kNone ? kNone : root(cluster_of_node_[i]);
      graph::for_each_argument(nodes[i], [&](ValueId id) {
        const std::size_t there = cluster_of_value_[id] == kNone ? kNone : root(cluster_of_value_[id]);
        if (there != here) read_outside_[id] = true;
      });
    }
  }

  using Registers = std::unordered_map<ValueId, int>;

  /// Adds the instruction of a node; returns the register of its result.
  static int add_operator(Program& program, const GraphNode& node, const Registers& registers) {
    SmallVector<int, 4> operands;
    for (const NodeArgument& argument : node.arguments) {
      operands.push_back(argument.kind == NodeArgument::Kind::Constant
                             ? program.add_constant(argument.constant.scalar())
                             : registers.at(argument.values[0]));
    }
    return program.add(*elementwise_of(node), std::move(operands));
  }

  /// Adds the instructions of a layer.
  static int add_layer(Program& program, const GraphNode& node, const Registers& registers) {
    const LayerGraphs& layer = *node.layer;
    LayerCall call{.inputs = {}, .result = 0, .saved = {}, .backward = backward_of(layer), .function = node.function};
    Registers inner;
    for (std::size_t i = 0; i < layer.inputs.size(); ++i) {
      call.inputs.push_back(registers.at(node.arguments[0].values[i]));
      inner[layer.inputs[i]] = call.inputs.back();
    }
    for (const GraphNode& one : layer.forward.nodes()) {
      inner[one.results[0]] = add_operator(program, one, inner);
      program.instructions.back().layer = static_cast<int>(program.layers.size());
    }
    call.result = inner.at(layer.result);
    for (const ValueId id : layer.saved) call.saved.push_back(inner.at(id));
    program.layers.push_back(std::move(call));
    return program.layers.back().result;
  }

  /// Returns the program of a layer's gradients.
  static std::shared_ptr<const Program> backward_of(const LayerGraphs& layer) {
    auto program = std::make_shared<Program>();
    Registers registers;
    const auto add_input = [&](ValueId id) {
      const bool mask = layer.backward.value(id).type.dtype == DType::Bool;
      registers[id] = program->add_register(Register::Kind::Input, program->inputs++, mask);
    };
    std::ranges::for_each(layer.backward_saved, add_input);
    add_input(layer.gradient);
    for (const GraphNode& node : layer.backward.nodes())
      registers[node.results[0]] = add_operator(*program, node, registers);
    for (const ValueId id : layer.gradients) program->outputs.push_back(id == kNoValue ? -1 : registers.at(id));
    return program;
  }

  GraphNode build(const Cluster& cluster) const {
    auto program = std::make_shared<Program>();
    program->name = "fused";
    Registers registers;
    std::vector<ValueId> inputs;
    GraphNode fused{.kind = GraphNode::Kind::Function,
                    .name = {},
                    .op = {},
                    .function = {},
                    .arguments = {},
                    .results = {},
                    .list_sizes = {},
                    .effects = false,
                    .no_grad = cluster.no_grad,
                    .where = graph_.nodes()[cluster.nodes.back()].where};
    for (const std::size_t i : cluster.nodes) {
      const GraphNode& node = graph_.nodes()[i];
      graph::for_each_argument(node, [&](ValueId id) {
        if (registers.contains(id)) return;
        inputs.push_back(id);
        registers[id] = program->add_register(Register::Kind::Input, program->inputs++, is_mask(id));
      });
      program->name += (program->instructions.empty() ? " " : "-") +
                       (node.layer ? node.layer->name : std::string(elementwise_of(node)->info->name));
      registers[node.results[0]] =
          node.layer ? add_layer(*program, node, registers) : add_operator(*program, node, registers);
      if (!read_outside_[node.results[0]]) continue;
      program->outputs.push_back(registers[node.results[0]]);
      fused.results.push_back(node.results[0]);
    }
    program->drop_unread();
    fused.name = program->name;
    const std::vector<ValueId> seeds = seeds_of(cluster, fused.results);
    fused.function = [program = std::shared_ptr<const Program>(program),
                      count = inputs.size()](std::vector<Tensor> given) {
      const std::vector<Tensor> seeds(given.begin() + static_cast<std::ptrdiff_t>(count), given.end());
      given.resize(count);
      return apply(program, given, seeds);
    };
    inputs.insert(inputs.end(), seeds.begin(), seeds.end());
    fused.arguments = {NodeArgument::of(std::move(inputs))};
    return fused;
  }

  const Graph& graph_;
  std::vector<Cluster> clusters_;
  std::vector<std::size_t> cluster_of_node_;
  std::vector<std::size_t> cluster_of_value_;
  /// Position of the last write in place before gradients are computed, 0 if there is none. A program saves its inputs
  /// for its gradient, where the operators may save nothing that the write spoils, so that none is made before it.
  std::size_t last_write_ = 0;
  /// True for values whose own gradients may be asked for.
  std::vector<bool> asked_;
  /// Position of the graph's only backward pass, and the gradients that it begins with by their targets: kNoValue for
  /// ones.
  std::size_t pass_ = kNone;
  std::unordered_map<ValueId, ValueId> seed_of_;
  /// True for values that are read outside of their cluster.
  std::vector<bool> read_outside_;
};

}  // namespace

Graph fuse(const Graph& graph, std::span<const ValueId> fetches, bool callers_tape) {
  return Fuser(graph, fetches, callers_tape).run();
}

}  // namespace lamella::fusion
