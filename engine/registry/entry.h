#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/registry/handle.h"
#include "engine/registry/kernel.h"

// Note [Entries]
// An entry stands for a name, and is never freed: a handle of an operator that is gone finds it without a plan, and one
// that is defined again works again. What a call reads (the plan and the kernels) is replaced as a whole, and what was
// replaced stays in memory, since a call on another thread may be in it: so a call takes no lock.

namespace lamella::registry {

/// A kernel in the table.
struct Record {
  KernelFunction function;
  DispatchKey key;
  Place place;
};

/// What a call needs to know of the schema.
struct Plan {
  explicit Plan(Schema schema);

  const Schema schema;
  /// The arguments that hold tensors, and those that are written to.
  std::vector<std::uint8_t> tensor_arguments;
  std::vector<std::uint8_t> written;
  /// Results that are one tensor, which is there.
  std::vector<std::uint8_t> tensor_results;
  /// Whether any result can hold tensors.
  bool gives_tensors = false;
  /// The device that the call is for, where it has no tensors.
  std::optional<std::size_t> device_argument;
};

class OperatorEntry {
 public:
  OperatorEntry(std::string name, std::string overload);

  const std::string name;
  const std::string overload;
  const std::string full_name;

  /// Null while the operator is not defined.
  std::atomic<const Plan*> plan{nullptr};
  /// By DispatchKey, as far as calls can be for it; null where there is none.
  std::array<std::atomic<const Record*>, kDispatchSlots> table{};
  /// By DeviceType: the kernel that is registered for the device itself.
  std::array<std::atomic<const Record*>, kDeviceTypeCount> device_kernels{};

  // What follows is guarded by the registry's mutex.

  struct Definition {
    std::uint64_t library;
    Place place;
    const Plan* plan;
    std::string doc;
  };
  struct Implementation {
    std::uint64_t library;
    const Record* record;
  };
  /// Libraries with the same definition; the first counts.
  std::vector<Definition> definitions;
  std::array<std::vector<Implementation>, kDispatchKeyCount> implementations;

  const Record* implementation(DispatchKey key) const {
    const auto& all = implementations[static_cast<std::size_t>(key)];
    return all.empty() ? nullptr : all.front().record;
  }
  /// Fills the plan and the table from what is registered.
  void update();
};

/// Changes with each definition of an operator, and where one goes: what was found out about overloads is then old.
std::uint64_t generation() noexcept;

/// The kernel that a fallback registered for each key; null where there is none.
const Record* fallback_for(DispatchKey key) noexcept;
void set_fallback(DispatchKey key, const Record* record) noexcept;

/// A call as the kernels of one operator see it.
struct Call {
  OperatorEntry& entry;
  const Plan& plan;
  const Arg* args;
  Value* results;

  /// Runs a kernel and checks what it returned; counts the writes where `marks_writes`. Defined in call.cc.
  void run(const Record& record, DispatchKeySet remaining, bool marks_writes) const;
};

}  // namespace lamella::registry
