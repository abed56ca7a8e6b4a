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

  /// Returns the operator "ns::name" with that overload name ("ns::name.overload" works too), or nothing.
  std::optional<OperatorHandle> find_schema(std::string_view name, std::string_view overload = "");
  /// Returns the operator; throws RuntimeError with similar names if there is none.
  OperatorHandle find_schema_or_throw(std::string_view name, std::string_view overload = "");

  /// Returns every operator, or those of one namespace, by name.
  std::vector<OperatorHandle> operators(std::string_view ns = "");
  /// Returns the overloads of "ns::name", in the order of their definitions.
  std::vector<OperatorHandle> overloads(std::string_view name);
  /// Returns the namespaces that have operators, by name.
  std::vector<std::string> namespaces();

  /// Registers a function that defines the operators of a namespace when they are first looked up.
  void register_provider(std::string_view ns, void (*define)());

 private:
  Dispatcher() = default;
};

}  // namespace lamella
