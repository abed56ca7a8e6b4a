#include "ops/user_op/table.h"

#include <algorithm>
#include <functional>

#include "engine/core/error.h"
#include "ops/user_op/messages.h"

namespace lamella::user_op::detail {
namespace {

struct Table {
  std::mutex mutex;
  std::map<std::string, std::unique_ptr<Entry>, std::less<>> entries;
};
Table& table() {
  static auto* const all = new Table;  // never destroyed: libraries unload when the process ends
  return *all;
}

}  // namespace

std::shared_ptr<const OpDef> Entry::def() {
  const std::lock_guard lock(mutex);
  if (defs.empty()) fail<RuntimeError>("[", name, "] the operator's library was unloaded");
  return defs.front();
}

std::shared_ptr<const GradDef> Entry::grad() {
  const std::lock_guard lock(mutex);
  return grads.empty() ? nullptr : grads.front();
}

Entry& entry(const std::string& op) {
  const std::lock_guard lock(table().mutex);
  auto& found = table().entries[op];
  if (!found) found = std::make_unique<Entry>(op);
  return *found;
}

Entry* find_defined(const std::string& op) {
  const std::lock_guard lock(table().mutex);
  const auto found = table().entries.find(op);
  if (found == table().entries.end()) return nullptr;
  const std::lock_guard inner(found->second->mutex);
  return found->second->defs.empty() ? nullptr : &*found->second;
}

Entry& defined_entry(const std::string& op) {
  if (Entry* const found = find_defined(op)) return *found;
  std::vector<std::string> names;
  {
    const std::lock_guard lock(table().mutex);
    for (const auto& [name, each] : table().entries) {
      const std::lock_guard inner(each->mutex);
      if (!each->defs.empty()) names.push_back(name);
    }
  }
  fail<ValueError>(
      "[user_op] no operator '", op, "' is registered; there are ", quoted(names, std::identity()),
      ". Was its library loaded (load_library)? OneFlow's own operators are there once oneflow is imported, "
      "in programs run by lamella.compat");
}

std::vector<Entry*> all_entries() {
  const std::lock_guard lock(table().mutex);
  std::vector<Entry*> all;
  for (const auto& [name, each] : table().entries) all.push_back(each.get());
  return all;
}

std::vector<std::string> dangling_names() {
  const std::lock_guard lock(table().mutex);
  std::vector<std::string> names;
  for (const auto& [name, each] : table().entries) {
    const std::lock_guard inner(each->mutex);
    if (each->defs.empty() && !(each->kernels.empty() && each->grads.empty())) names.push_back(name);
  }
  return names;
}

}  // namespace lamella::user_op::detail
