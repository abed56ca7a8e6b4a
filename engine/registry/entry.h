#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/registry/kernel.h"
#include "engine/registry/key.h"
#include "engine/registry/place.h"
#include "engine/registry/schema.h"

// Note [Entries]
// An entry stands for a name and is never freed: the handle of a removed operator finds it without a plan, and works
// again once the operator is defined again. The parts that a call reads (the plan and the kernels) are replaced as a
// whole; replaced ones stay in memory, because a call on another thread may be using them. So a call takes no lock.

namespace lamella::registry {

/// A kernel in the table.
struct Record {
  KernelFunction function;
  DispatchKey key;
  Place place;
};

/// The parts of the schema that a call needs.
struct Plan {
  explicit Plan(Schema schema);

  const Schema schema;
  /// Indices of the arguments that hold tensors, and of those that are written to.
  std::vector<std::uint8_t> tensor_arguments;
  std::vector<std::uint8_t> written;
  /// Indices of the results that are a single, defined tensor.
  std::vector<std::uint8_t> tensor_results;
  /// True if a result can hold tensors.
  bool gives_tensors = false;
  /// The argument that determines the device of a call without tensors.
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
  /// Kernels by DispatchKey, for keys that a call can have; null if there is none.
  std::array<std::atomic<const Record*>, kDispatchSlots> table{};
  /// Kernels by DeviceType that are registered for the device itself.
  std::array<std::atomic<const Record*>, kDeviceTypeCount> device_kernels{};

  /// True once the user was warned that the tape follows its kernel.
  std::atomic<bool> was_followed{false};

  // The members below are guarded by the registry's mutex.

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
  /// Equal definitions by several libraries; the first one counts.
  std::vector<Definition> definitions;
  std::array<std::vector<Implementation>, kDispatchKeyCount> implementations;

  const Record* implementation(DispatchKey key) const {
    const auto& all = implementations[static_cast<std::size_t>(key)];
    return all.empty() ? nullptr : all.back().record;
  }
  /// Rebuilds the plan and the table from the registrations.
  void update();
};

/// Returns a number that changes whenever an operator is defined or removed, which invalidates cached overloads.
std::uint64_t generation() noexcept;
/// Changes generation(), so that every operator's next call looks for overloads anew.
void advance_generation() noexcept;

/// Returns the fallback kernel registered for a key, or null.
const Record* fallback_for(DispatchKey key) noexcept;
void set_fallback(DispatchKey key, const Record* record) noexcept;

/// A call in the form that an operator's kernels take.
struct Call {
  OperatorEntry& entry;
  const Plan& plan;
  const Arg* args;
  Value* results;

  /// Runs a kernel and checks what it returned; counts the writes where `marks_writes`. Defined in call.cc.
  void run(const Record& record, DispatchKeySet remaining, bool marks_writes) const;
  /// Refuses arguments that are written to and whose memory is read-only, and ends loans of the others' memory.
  void prepare_writes() const;
};

}  // namespace lamella::registry
