#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/registry/handle.h"

namespace lamella {

/// The table of all registered operators.
class Dispatcher {
 public:
  static Dispatcher& singleton();

  /// The operator "ns::name" with that overload name ("ns::name.overload" works too); nothing where there is none.
  std::optional<OperatorHandle> find_schema(std::string_view name, std::string_view overload = "");
  /// The same; RuntimeError where there is none, with the names that are near.
  OperatorHandle find_schema_or_throw(std::string_view name, std::string_view overload = "");

  /// Every operator, by name; of one namespace where one is named.
  std::vector<OperatorHandle> operators(std::string_view ns = "");
  /// The overloads of "ns::name", in the order of their definitions.
  std::vector<OperatorHandle> overloads(std::string_view name);
  /// The namespaces that have operators, by name.
  std::vector<std::string> namespaces();

  /// A function that defines the operators of a namespace when they are first looked for.
  void register_provider(std::string_view ns, void (*define)());

 private:
  Dispatcher() = default;
};

}  // namespace lamella
