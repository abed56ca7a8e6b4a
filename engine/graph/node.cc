#include "engine/graph/node.h"

#include <algorithm>

namespace lamella::graph {

std::string ValueType::str() const { return std::string(lamella::name(dtype)) + to_string(shape); }

bool ValueType::admits(const Tensor& x) const {
  if (x.dtype() != dtype || x.ndim() != shape.size()) return false;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] != kUnknown && shape[i] != x.shape()[i]) return false;
  }
  return true;
}

std::string describe(const GraphNode& node) {
  return "'" + node.name + "'" + (node.where.empty() ? "" : " (" + node.where + ")");
}

bool draws(const GraphNode& node) {
  return node.op && std::ranges::any_of(node.op->schema().arguments, [](const auto& argument) {
           return argument.type.base == registry::Type::Base::Generator;
         });
}

}  // namespace lamella::graph
