#include "ops/fusion/loss.h"

#include <string>

#include "ops/nn/cross_entropy.h"

namespace lamella::fusion {

std::optional<graph::GraphFunction> foreseen_loss(const graph::GraphNode& node) {
  using graph::NodeArgument;
  enum Parameter : std::size_t { Input, Target, Weight, IgnoreIndex, Reduction, LabelSmoothing, Axis, Count };
  if (node.kind != graph::GraphNode::Kind::Operator || !node.name.starts_with("lamella::") ||
      std::string_view(node.name).substr(9) != CrossEntropy::info.name || node.arguments.size() != Count)
    return {};
  const auto is_value = [&](Parameter at) {
    const NodeArgument& argument = node.arguments[at];
    return argument.kind == NodeArgument::Kind::Value && argument.values[0] != graph::kNoValue;
  };
  const auto is_none = [&](Parameter at) {
    const NodeArgument& argument = node.arguments[at];
    return argument.kind == NodeArgument::Kind::Constant ? argument.constant.is_none() : !is_value(at);
  };
  if (!is_value(Input) || !is_value(Target) || !is_none(Weight)) return {};
  const auto constant = [&](Parameter at) -> const registry::Value& { return node.arguments[at].constant; };
  const std::string reduction(constant(Reduction).text());
  if (reduction == "none") return {};
  const std::optional<std::int64_t> axis = is_none(Axis) ? std::nullopt : std::optional(constant(Axis).integer());
  return [reduction, axis, ignored = constant(IgnoreIndex).integer(),
          smoothing = constant(LabelSmoothing).number()](const std::vector<Tensor>& given) -> std::vector<Tensor> {
    return {cross_entropy_foreseen(given[0], given[1], ignored, reduction, smoothing, axis, given[2])};
  };
}

}  // namespace lamella::fusion
