#pragma once

#include <initializer_list>
#include <vector>

#include "engine/runtime/generator.h"

namespace lamella {

/// Restores the default generators at the end of a scope to their states at its beginning, after an exception too, so
/// that random numbers drawn in between leave no trace. The states are the process's, not the thread's.
class [[nodiscard]] ForkRng {
 public:
  /// Saves the states of all devices, and the seed that lamella::seed set.
  ForkRng() : states_(rng_states()) {}
  /// Saves the states of these devices only. Throws as default_generator() does.
  explicit ForkRng(std::span<const Device> devices) : states_(rng_states(devices)) {}
  ForkRng(std::initializer_list<Device> devices) : ForkRng(std::span(devices.begin(), devices.size())) {}
  ~ForkRng() { restore_rng_states(states_); }
  ForkRng(const ForkRng&) = delete;
  ForkRng& operator=(const ForkRng&) = delete;

 private:
  std::vector<DeviceRngState> states_;
};

}  // namespace lamella
