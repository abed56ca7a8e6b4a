#pragma once

// Kernels for any operator, with their arguments on a stack.

#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include "ATen/core/dispatch/Dispatcher.h"
#include "engine/registry/kernel.h"

namespace torch::jit {
/// Arguments of a call, and then its results.
using Stack = std::vector<c10::IValue>;

/// Returns the i-th of the last n values.
inline c10::IValue& peek(Stack& stack, std::size_t i, std::size_t n) { return *(stack.end() - n + i); }
/// Removes the last n values.
inline void drop(Stack& stack, std::size_t n) { stack.erase(stack.end() - n, stack.end()); }
/// Removes and returns the last value.
inline c10::IValue pop(Stack& stack) {
  c10::IValue value = std::move(stack.back());
  stack.pop_back();
  return value;
}
inline c10::IValue pop(Stack* stack) { return pop(*stack); }
template <class... Values>
void push(Stack& stack, Values&&... values) {
  (stack.emplace_back(std::forward<Values>(values)), ...);
}
template <class... Values>
void push(Stack* stack, Values&&... values) {
  push(*stack, std::forward<Values>(values)...);
}
}  // namespace torch::jit

namespace at::detail {

/// Wraps Function, void(const c10::OperatorHandle&, torch::jit::Stack*), perhaps with the keys between, as a kernel.
template <auto Function>
void call_on_stack(const lamella::registry::CallContext& context, std::span<const lamella::registry::Arg> args,
                   std::span<lamella::registry::Value> results) {
  torch::jit::Stack stack;
  stack.reserve(args.size());
  for (const lamella::registry::Arg& arg : args) stack.emplace_back(lamella::registry::Value(arg));
  const c10::OperatorHandle op(context.op);
  if constexpr (requires { Function(op, context.remaining, &stack); }) {
    Function(op, context.remaining, &stack);
  } else {
    Function(op, &stack);
  }
  if (stack.size() != results.size()) {
    lamella::fail<lamella::RuntimeError>("[", op.full_name(), "] the kernel left ", stack.size(),
                                         " values on the stack, where the operator has ", results.size(), " results");
  }
  for (std::size_t k = 0; k < results.size(); ++k) results[k] = stack[k].native();
}

}  // namespace at::detail
