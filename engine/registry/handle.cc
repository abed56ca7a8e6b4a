#include "engine/registry/handle.h"

#include <mutex>

#include "engine/core/error.h"
#include "engine/registry/boxed_types.h"
#include "engine/registry/entry.h"
#include "engine/registry/registry.h"

namespace lamella {

using registry::Arg;
using registry::the_registry;
using registry::Type;
using registry::Value;

const Schema& OperatorHandle::schema() const {
  const registry::Plan* const plan = entry_->plan.load(std::memory_order_acquire);
  if (!plan) {
    fail<RuntimeError>("[", entry_->full_name, "] the operator is not registered any more: its library was unloaded");
  }
  return plan->schema;
}

const std::string& OperatorHandle::name() const noexcept { return entry_->name; }
const std::string& OperatorHandle::overload() const noexcept { return entry_->overload; }
const std::string& OperatorHandle::full_name() const noexcept { return entry_->full_name; }
bool OperatorHandle::is_defined() const noexcept { return entry_->plan.load(std::memory_order_acquire) != nullptr; }

std::string OperatorHandle::doc() const {
  const std::lock_guard lock(the_registry().mutex);
  for (const auto& definition : entry_->definitions) {
    if (!definition.doc.empty()) return definition.doc;
  }
  return {};
}

registry::Place OperatorHandle::place() const {
  const std::lock_guard lock(the_registry().mutex);
  return entry_->definitions.empty() ? registry::Place() : entry_->definitions.front().place;
}

std::vector<registry::KernelInfo> OperatorHandle::kernels() const {
  const std::lock_guard lock(the_registry().mutex);
  std::vector<registry::KernelInfo> found;
  for (std::size_t key = 0; key < kDispatchKeyCount; ++key) {
    if (const registry::Record* record = entry_->implementation(static_cast<DispatchKey>(key))) {
      found.push_back({record->key, record->place, record->function.is_fallthrough()});
    }
  }
  return found;
}

bool OperatorHandle::has_kernel(DispatchKey key) const {
  const std::lock_guard lock(the_registry().mutex);
  return static_cast<std::size_t>(key) < kDispatchKeyCount && entry_->implementation(key);
}

std::vector<Value> OperatorHandle::call_boxed(std::span<const Value> given) const {
  const Schema& schema = this->schema();
  if (given.size() > schema.arguments.size()) {
    fail<TypeError>("[", full_name(), "] takes ", schema.arguments.size(), " arguments, ", given.size(),
                    " were given: ", schema.str());
  }
  std::vector<Value> values;
  std::vector<Arg> args;
  values.reserve(schema.arguments.size());  // reserved because the views below refer to its elements
  for (std::size_t i = 0; i < schema.arguments.size(); ++i) {
    const Schema::Argument& argument = schema.arguments[i];
    const Value* value = i < given.size() ? &given[i] : nullptr;
    if (!value && argument.default_value) value = &*argument.default_value;
    if (!value) fail<TypeError>("[", full_name(), "] missing argument '", argument.name, "'");
    values.push_back(registry::widened(argument.type, *value));
    args.push_back(values.back().view());
    if (!registry::is_value_of(argument.type, args.back())) {
      fail<TypeError>("[", full_name(), "] ", argument.name, ": expected ", argument.type.str(), ", got ",
                      registry::describe(args.back().kind));
    }
  }
  std::vector<Value> results(schema.results.size());
  call(args.data(), results.data());
  return results;
}

namespace registry::detail {
namespace {

std::string list(std::span<const Type> types) {
  std::string text;
  for (const Type& type : types) text += (text.empty() ? "" : ", ") + type.str();
  return "(" + text + ")";
}

}  // namespace

void check_signature(const Schema& schema, const SignatureView& signature, std::string_view who) {
  const std::string name = schema.full_name();
  if (signature.arguments.size() != schema.arguments.size()) {
    fail<TypeError>("[", name, "] ", who, ": the function takes ", signature.arguments.size(), " arguments ",
                    list(signature.arguments), ", the schema has ", schema.arguments.size(), ": ", schema.str());
  }
  for (std::size_t i = 0; i < schema.arguments.size(); ++i) {
    const Schema::Argument& argument = schema.arguments[i];
    if (!accepts(argument.type, signature.arguments[i])) {
      fail<TypeError>("[", name, "] ", who, ": argument ", i, " ('", argument.name, "') is ", argument.type.str(),
                      " in the schema, the function takes ", signature.arguments[i].str());
    }
  }
  if (signature.results.size() != schema.results.size()) {
    fail<TypeError>("[", name, "] ", who, ": the function returns ", list(signature.results), ", the schema has ",
                    schema.results.size(), " results: ", schema.str());
  }
  for (std::size_t k = 0; k < schema.results.size(); ++k) {
    if (!accepts(schema.results[k].type, signature.results[k])) {
      fail<TypeError>("[", name, "] ", who, ": result ", k, " is ", schema.results[k].type.str(),
                      " in the schema, the function returns ", signature.results[k].str());
    }
  }
}

}  // namespace registry::detail
}  // namespace lamella
