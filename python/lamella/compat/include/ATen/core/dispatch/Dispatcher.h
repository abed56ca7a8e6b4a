#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "ATen/core/LegacyTypeDispatch.h"
#include "ATen/core/converters.h"
#include "ATen/core/function_schema.h"
#include "ATen/core/ivalue.h"
#include "engine/registry/dispatcher.h"

namespace c10 {

template <class Signature>
using TypedOperatorHandle = lamella::TypedOperatorHandle<Signature>;

/// A registered operator.
class OperatorHandle : public lamella::OperatorHandle {
 public:
  OperatorHandle(lamella::OperatorHandle handle) : lamella::OperatorHandle(handle) {}
  OperatorName operator_name() const { return {name(), overload()}; }
  FunctionSchema schema() const { return FunctionSchema(native_schema()); }
  const lamella::Schema& native_schema() const { return lamella::OperatorHandle::schema(); }
  /// Calls the operator on the last values of the stack, which its results replace.
  void callBoxed(std::vector<IValue>& stack) const {
    const std::size_t count = native_schema().arguments.size();
    if (stack.size() < count) {
      lamella::fail<lamella::ValueError>("[callBoxed] ", full_name(), " takes ", count, " values, got ", stack.size());
    }
    std::vector<lamella::registry::Value> args;
    for (std::size_t i = stack.size() - count; i < stack.size(); ++i) args.push_back(stack[i].native());
    stack.resize(stack.size() - count);
    for (auto& result : call_boxed(args)) stack.emplace_back(IValue(std::move(result)));
  }
};

/// The table of all registered operators, under PyTorch's names.
class Dispatcher {
 public:
  static Dispatcher& singleton() {
    static Dispatcher dispatcher;
    return dispatcher;
  }
  static Dispatcher& realSingleton() { return singleton(); }

  /// Finds an operator; RuntimeError if there is none of that name.
  OperatorHandle findSchemaOrThrow(const char* name, const char* overload) const {
    return lamella::Dispatcher::singleton().find_schema_or_throw(name, overload);
  }
  std::optional<OperatorHandle> findSchema(const OperatorName& name) const {
    const auto found = lamella::Dispatcher::singleton().find_schema(name.name, name.overload_name);
    return found ? std::optional<OperatorHandle>(*found) : std::nullopt;
  }
  std::optional<OperatorHandle> findOp(const OperatorName& name) const { return findSchema(name); }

 private:
  Dispatcher() = default;
};

}  // namespace c10
