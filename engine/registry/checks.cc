#include "engine/registry/checks.h"

#include <atomic>

#include "engine/core/error.h"
#include "engine/registry/entry.h"

namespace lamella::registry {
namespace {

std::atomic<bool> enabled{false};

bool shares_memory(const Tensor& x, const Tensor& y) {
  return x.defined() && y.defined() && x->storage && x->storage == y->storage;
}

std::string result_name(const Schema& schema, std::size_t k) {
  const std::string text = "result " + std::to_string(k);
  return schema.results[k].name.empty() ? text : text + " ('" + schema.results[k].name + "')";
}

void check_result(const Call& call, std::size_t k, const Tensor& y) {
  const Schema& schema = call.plan.schema;
  const auto declared = schema.aliased_argument(k);
  if (declared && schema.arguments[*declared].is_written()) {
    bool found = false;
    for (const Tensor& x : call.args[*declared].tensor_span()) found |= x.same(y);
    if (!found) {
      fail<RuntimeError>("[", call.entry.full_name, "] ", result_name(schema, k), " is not the argument '",
                         schema.arguments[*declared].name, "', which the schema says it is; return that argument");
    }
  }
  for (const std::uint8_t i : call.plan.tensor_arguments) {
    const auto& alias = schema.results[k].alias;
    if (declared == i || (alias && alias->set == "*")) continue;
    for (const Tensor& x : call.args[i].tensor_span()) {
      if (!shares_memory(x, y)) continue;
      fail<RuntimeError>(
          "[", call.entry.full_name, "] ", result_name(schema, k), " shares the memory of the argument '",
          schema.arguments[i].name,
          "', and the schema does not say so; return a new tensor (clone()), or mark both in the schema, "
          "such as Tensor(a) ",
          schema.arguments[i].name, " ... -> Tensor(a)");
    }
  }
}

}  // namespace

void set_alias_checks(bool value) noexcept { enabled.store(value, std::memory_order_relaxed); }
bool alias_checks_enabled() noexcept { return enabled.load(std::memory_order_relaxed); }

void check_aliases(const Call& call) {
  const Schema& schema = call.plan.schema;
  for (std::size_t k = 0; k < schema.results.size(); ++k) {
    const Value& value = call.results[k];
    for (const Tensor& y : value.view().tensor_span()) check_result(call, k, y);
    if (!value.is_tensor()) continue;
    for (std::size_t other = 0; other < k; ++other) {
      if (call.results[other].is_tensor() && !schema.results[k].alias &&
          shares_memory(call.results[other].tensor(), value.tensor())) {
        fail<RuntimeError>("[", call.entry.full_name, "] ", result_name(schema, other), " and ", result_name(schema, k),
                           " share their memory; return a copy (clone()) of one");
      }
    }
  }
}

}  // namespace lamella::registry
