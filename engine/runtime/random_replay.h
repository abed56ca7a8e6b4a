#pragma once

#include <memory>
#include <vector>

#include "engine/runtime/generator.h"

// Note [Random numbers that are drawn again]
// A computation that is run again must draw the numbers that it drew before. Resetting the default generators for that
// would disturb every other thread that draws meanwhile, and be disturbed by them. So it gets generators of its own,
// which start from the earlier states; nothing has to be restored afterwards.

namespace lamella {

/// The states of the default generators.
class RandomState {
 public:
  static RandomState now() { return RandomState(rng_states()); }
  /// Restores the default generators to these states.
  void restore() const { restore_rng_states(states_); }

  friend bool operator==(const RandomState&, const RandomState&) = default;

 private:
  explicit RandomState(std::vector<DeviceRngState> states) : states_(std::move(states)) {}

  std::vector<DeviceRngState> states_;
};

/// Replaces the default generators of this thread in a scope by others, which go on from `start`. Defined in
/// generator.cc, which has the generators.
class RandomReplay {
 public:
  explicit RandomReplay(const RandomState& start);
  ~RandomReplay();
  RandomReplay(const RandomReplay&) = delete;
  RandomReplay& operator=(const RandomReplay&) = delete;

 private:
  struct Generators;
  std::unique_ptr<Generators> generators_;
};

}  // namespace lamella
