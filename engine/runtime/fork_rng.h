#pragma once

#include <initializer_list>
#include <vector>

#include "engine/runtime/generator.h"

namespace lamella {

/// Random numbers drawn while it lives leave no trace: its end puts the default generators back to where they stood at
/// its beginning, after an exception too. The states are the process's, not the thread's.
class [[nodiscard]] ForkRng {
 public:
  /// Of all devices, and of the seed that lamella::seed set.
  ForkRng() : states_(rng_states()) {}
  /// Of these devices only. Errors as of default_generator().
  explicit ForkRng(std::span<const Device> devices) : states_(rng_states(devices)) {}
  ForkRng(std::initializer_list<Device> devices) : ForkRng(std::span(devices.begin(), devices.size())) {}
  ~ForkRng() { restore_rng_states(states_); }
  ForkRng(const ForkRng&) = delete;
  ForkRng& operator=(const ForkRng&) = delete;

 private:
  std::vector<DeviceRngState> states_;
};

}  // namespace lamella
