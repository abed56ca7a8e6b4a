// Note [Text form]
// A graph is a list of lines:
//
//     graph "digits"
//     input %x: float32[-1, 784]
//     captured %w: float32[784, 10]
//     %t0: float32[-1, 10] = lamella::matmul(%x, %w)  # train.py:12
//     %t1: float32[-1, 1] = lamella::sum(%t0, axis=[1], keepdims=True)
//     [%a: float32[-1, 5], %b: float32[-1, 5]] = lamella::split(%t0, [2], axis=1)
//     %y: float32[-1, 10] = function "tanh"([%t0])
//     %g: float32[784, 10], None = gradients([%t1], [%w, %x], [])
//     no_grad lamella::copy_(%w, %y)
//
// Arguments that equal the schema's default are left out. An input through which gradients flow has "grad" behind its
// type, another value through which none flow has "stop", a function without effects "pure" behind its name. Names with
// other characters than letters, digits and _.@/- are quoted.

#include <algorithm>

#include "engine/core/error.h"
#include "engine/graph/graph.h"
#include "engine/registry/schema.h"

namespace lamella::graph {
namespace {

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("_.@/-").find(c) != std::string_view::npos;
}

std::string quoted(std::string_view text) { return registry::Value(text).str(); }

class Writer {
 public:
  explicit Writer(const Graph& graph) : graph_(graph) {}

  std::string write() {
    text_ = "graph " + quoted(graph_.name) + "\n";
    for (const GraphValue& value : graph_.values()) {
      if (value.origin == GraphValue::Origin::Input) text_ += "input " + definition(value) + "\n";
      if (value.origin == GraphValue::Origin::Captured) text_ += "captured " + definition(value) + "\n";
    }
    for (const GraphNode& node : graph_.nodes()) {
      const std::string results = this->results(node);
      text_ += results + (results.empty() ? "" : " = ") + call(node);
      if (!node.where.empty()) text_ += "  # " + node.where;
      text_ += "\n";
    }
    return std::move(text_);
  }

 private:
  static std::string reference(std::string_view name) {
    return "%" + (std::ranges::all_of(name, is_plain) ? std::string(name) : quoted(name));
  }
  std::string reference(ValueId id) const { return id == kNoValue ? "None" : reference(graph_.value(id).name); }
  std::string references(std::span<const ValueId> ids) const {
    std::string text = "[";
    for (std::size_t i = 0; i < ids.size(); ++i) text += (i ? ", " : "") + reference(ids[i]);
    return text + "]";
  }

  static std::string definition(const GraphValue& value) {
    const bool input = value.origin == GraphValue::Origin::Input;
    return reference(value.name) + ": " + value.type.str() +
           (value.stop_gradient == input ? ""
            : input                      ? " grad"
                                         : " stop");
  }
  std::string definition(ValueId id) const { return id == kNoValue ? "None" : definition(graph_.value(id)); }

  std::string results(const GraphNode& node) const {
    std::string text;
    std::size_t at = 0;
    const auto next = [&] { return definition(node.results[at++]); };
    if (node.kind != GraphNode::Kind::Operator) {
      while (at < node.results.size()) {
        if (at) text += ", ";
        text += next();
      }
      return text;
    }
    for (std::size_t k = 0; k < node.list_sizes.size(); ++k) {
      if (k) text += ", ";
      if (node.list_sizes[k] < 0) {
        text += next();
        continue;
      }
      text += "[";
      for (std::int64_t i = 0; i < node.list_sizes[k]; ++i) text += (i ? ", " : "") + next();
      text += "]";
    }
    return text;
  }

  std::string argument(const NodeArgument& argument) const {
    switch (argument.kind) {
      case NodeArgument::Kind::Constant:
        return argument.constant.str();
      case NodeArgument::Kind::Value:
        return reference(argument.values[0]);
      case NodeArgument::Kind::Values:
        break;
    }
    return references(argument.values);
  }

  std::string call(const GraphNode& node) const {
    std::string text = node.no_grad ? "no_grad " : "";
    if (node.kind == GraphNode::Kind::Operator) return text + node.name + "(" + operator_arguments(node) + ")";
    if (node.kind == GraphNode::Kind::Gradients) {
      text += "gradients";
    } else {
      text += "function " + quoted(node.name) + (node.effects ? "" : " pure");
    }
    text += "(";
    for (std::size_t i = 0; i < node.arguments.size(); ++i) text += (i ? ", " : "") + argument(node.arguments[i]);
    return text + ")";
  }

  std::string operator_arguments(const GraphNode& node) const {
    if (!node.op) return {};
    const auto& arguments = node.op->schema().arguments;
    std::string text;
    bool named = false;
    for (std::size_t i = 0; i < node.arguments.size(); ++i) {
      const NodeArgument& given = node.arguments[i];
      const bool constant = given.kind == NodeArgument::Kind::Constant;
      const auto& default_value = arguments[i].default_value;
      if (constant && default_value && given.constant == *default_value) {
        named = true;
        continue;
      }
      named |= arguments[i].keyword_only || (constant && i > 0);
      text += (text.empty() ? "" : ", ") + (named ? arguments[i].name + "=" : "") + argument(given);
    }
    return text;
  }

  const Graph& graph_;
  std::string text_;
};

}  // namespace

std::string Graph::text() const { return Writer(*this).write(); }

}  // namespace lamella::graph
