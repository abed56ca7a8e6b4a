#include "engine/registry/dispatcher.h"

#include <algorithm>

#include "engine/core/error.h"
#include "engine/registry/pending.h"
#include "engine/registry/registry.h"

namespace lamella {

namespace registry {

namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, changed});
    }
  }
  return row.back();
}

/// Returns "; did you mean ns::name?", or a list of the existing names.
std::string suggestion(std::string_view wanted) {
  Registry& registry = the_registry();
  std::string near;
  std::size_t nearest = 3;
  bool known_namespace = false;
  for (const auto& [name, entry] : registry.entries) {
    if (!entry->plan.load()) continue;
    known_namespace |= namespace_of(name) == namespace_of(wanted);
    if (const std::size_t distance = edit_distance(name, wanted); distance < nearest) {
      nearest = distance;
      near = name;
    }
  }
  if (!near.empty()) return "; did you mean " + near + "?";
  if (known_namespace) return "";
  return "; no operator of the namespace '" + std::string(namespace_of(wanted)) +
         "' is registered: load the library that defines it first" + silent_libraries_text();
}

}  // namespace
}  // namespace registry

using registry::Registry;
using registry::the_registry;

Dispatcher& Dispatcher::singleton() {
  static Dispatcher dispatcher;
  return dispatcher;
}

std::optional<OperatorHandle> Dispatcher::find_schema(std::string_view name, std::string_view overload) {
  Registry& registry = the_registry();
  const std::lock_guard lock(registry.mutex);
  registry.provide(registry::namespace_of(name));
  const std::string full = overload.empty() ? std::string(name) : std::string(name) + "." + std::string(overload);
  const auto found = registry.entries.find(full);
  if (found == registry.entries.end() || !found->second->plan.load()) return std::nullopt;
  return OperatorHandle(found->second.get());
}

OperatorHandle Dispatcher::find_schema_or_throw(std::string_view name, std::string_view overload) {
  if (const auto found = find_schema(name, overload)) return *found;
  Registry& registry = the_registry();
  const std::lock_guard lock(registry.mutex);
  std::string wanted(name);
  if (!overload.empty()) wanted += "." + std::string(overload);
  if (name.find("::") == std::string_view::npos) {
    fail<RuntimeError>("there is no operator '", wanted, "'; its name begins with its namespace, as in my_ops::my_op");
  }
  std::string known;
  for (const OperatorHandle& other : overloads(name)) {
    known += (known.empty() ? "" : ", ") + (other.overload().empty() ? "\"\"" : "\"" + other.overload() + "\"");
  }
  fail<RuntimeError>("there is no operator '", wanted, "'",
                     known.empty() ? registry::suggestion(wanted) : "; its overloads are " + known,
                     registry::pending_error_text());
}

std::vector<OperatorHandle> Dispatcher::operators(std::string_view ns) {
  Registry& registry = the_registry();
  const std::lock_guard lock(registry.mutex);
  if (ns.empty()) {
    while (!registry.providers.empty()) registry.provide(std::string(registry.providers.begin()->first));
  } else {
    registry.provide(ns);
  }
  std::vector<OperatorHandle> found;
  for (const auto& [name, entry] : registry.entries) {
    if (entry->plan.load() && (ns.empty() || registry::namespace_of(name) == ns)) found.emplace_back(entry.get());
  }
  return found;
}

std::vector<OperatorHandle> Dispatcher::overloads(std::string_view name) {
  Registry& registry = the_registry();
  const std::lock_guard lock(registry.mutex);
  registry.provide(registry::namespace_of(name));
  std::vector<OperatorHandle> found;
  if (const auto all = registry.overloads.find(name); all != registry.overloads.end()) {
    for (registry::OperatorEntry* entry : all->second) {
      if (entry->plan.load()) found.emplace_back(entry);
    }
  }
  return found;
}

std::vector<std::string> Dispatcher::namespaces() {
  Registry& registry = the_registry();
  const std::lock_guard lock(registry.mutex);
  std::vector<std::string> found;
  const auto add = [&](std::string_view ns) {
    if (std::ranges::find(found, ns) == found.end()) found.emplace_back(ns);
  };
  for (const auto& [ns, define] : registry.providers) add(ns);
  for (const auto& [name, entry] : registry.entries) {
    if (entry->plan.load()) add(registry::namespace_of(name));
  }
  std::ranges::sort(found);
  return found;
}

void Dispatcher::register_provider(std::string_view ns, void (*define)()) {
  Registry& registry = the_registry();
  const std::lock_guard lock(registry.mutex);
  registry.providers[std::string(ns)] = define;
}

}  // namespace lamella
