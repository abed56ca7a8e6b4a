#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "engine/registry/entry.h"

namespace lamella::registry {

/// The registrations of this process. Never destroyed: libraries unload when the process ends.
struct Registry {
  std::recursive_mutex mutex;  // recursive because a provider defines operators while it is held
  std::map<std::string, std::unique_ptr<OperatorEntry>, std::less<>> entries;
  /// Entries in the order of their first registration.
  std::map<std::string, std::vector<OperatorEntry*>, std::less<>> overloads;
  /// Namespaces that a Def library owns.
  std::map<std::string, std::vector<OperatorEntry::Definition>, std::less<>> owners;
  std::array<std::vector<OperatorEntry::Implementation>, kDispatchKeyCount> fallbacks;
  /// Functions that define a namespace's operators on first use.
  std::map<std::string, void (*)(), std::less<>> providers;
  /// All plans and records that ever existed: removed ones are kept, because a call on another thread may be using
  /// them.
  std::vector<std::unique_ptr<const Plan>> plans;
  std::vector<std::unique_ptr<const Record>> records;
  std::uint64_t last_library = 0;

  /// Returns the entry of "ns::name", creating it if necessary.
  OperatorEntry& entry(const std::string& name, const std::string& overload);
  /// Runs the namespace's provider if it has not run yet.
  void provide(std::string_view ns);
  /// Rebuilds the tables of all entries.
  void update_all();
};

Registry& the_registry();

/// Returns "ns" of "ns::name".
inline std::string_view namespace_of(std::string_view name) { return name.substr(0, name.find("::")); }

}  // namespace lamella::registry
