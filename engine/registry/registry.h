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

/// What is registered in this process. Never destroyed: libraries unload when the process ends.
struct Registry {
  std::recursive_mutex mutex;  // a provider defines operators while it is held
  std::map<std::string, std::unique_ptr<OperatorEntry>, std::less<>> entries;
  /// In the order of their first registration.
  std::map<std::string, std::vector<OperatorEntry*>, std::less<>> overloads;
  /// Namespaces that a Def library owns.
  std::map<std::string, std::vector<OperatorEntry::Definition>, std::less<>> owners;
  std::array<std::vector<OperatorEntry::Implementation>, kDispatchKeyCount> fallbacks;
  /// Functions that define a namespace's operators on first use.
  std::map<std::string, void (*)(), std::less<>> providers;
  /// All that there ever were: what was taken back stays, for a call on another thread may be running it.
  std::vector<std::unique_ptr<const Plan>> plans;
  std::vector<std::unique_ptr<const Record>> records;
  std::uint64_t last_library = 0;

  /// The entry of "ns::name", made where there is none.
  OperatorEntry& entry(const std::string& name, const std::string& overload);
  /// Runs the namespace's provider, where it has not run.
  void provide(std::string_view ns);
  /// Fills all entries' tables anew.
  void update_all();
};

Registry& the_registry();

/// "ns" of "ns::name".
inline std::string_view namespace_of(std::string_view name) { return name.substr(0, name.find("::")); }

}  // namespace lamella::registry
