#include "engine/registry/registry.h"

namespace lamella::registry {

Registry& the_registry() {
  static auto* const registry = new Registry;
  return *registry;
}

OperatorEntry& Registry::entry(const std::string& name, const std::string& overload) {
  const std::string full = overload.empty() ? name : name + "." + overload;
  std::unique_ptr<OperatorEntry>& found = entries[full];
  if (!found) {
    found = std::make_unique<OperatorEntry>(name, overload);
    overloads[name].push_back(found.get());
  }
  return *found;
}

void Registry::provide(std::string_view ns) {
  const auto provider = providers.find(ns);
  if (provider == providers.end()) return;
  void (*const define)() = provider->second;
  providers.erase(provider);  // it looks its own operators up
  define();
}

void Registry::update_all() {
  for (std::size_t key = 0; key < kDispatchKeyCount; ++key) {
    set_fallback(static_cast<DispatchKey>(key), fallbacks[key].empty() ? nullptr : fallbacks[key].front().record);
  }
  for (const auto& [name, entry] : entries) entry->update();
}

}  // namespace lamella::registry
