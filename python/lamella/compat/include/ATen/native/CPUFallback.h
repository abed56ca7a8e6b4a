#pragma once

#include "ATen/core/boxing.h"
#include "ops/extension/host_fallback.h"

namespace at::native {

/// Runs an operator on copies of its tensors in host memory, and copies the results back; for fallbacks of PrivateUse1.
inline void cpu_fallback(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  std::vector<lamella::registry::Arg> args;
  args.reserve(stack->size());
  for (const c10::IValue& value : *stack) args.push_back(value.native().view());
  std::vector<lamella::registry::Value> results(op.native_schema().results.size());
  lamella::host_fallback({op, op.native_schema(), {}}, args, results);
  stack->clear();
  for (auto& result : results) stack->emplace_back(std::move(result));
}

}  // namespace at::native
