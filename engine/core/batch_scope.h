#pragma once

#include <cstdint>

namespace lamella::autograd {

/// Behavior of random operators under vmap.
enum class Randomness : std::uint8_t {
  /// Throw RuntimeError.
  Error,
  /// Give each example numbers of its own.
  Different,
  /// Give all examples the same numbers.
  Same,
};

/// A call of vmap that is under way.
struct BatchScope {
  std::uint64_t level = 0;
  std::int64_t size = 0;
  Randomness randomness = Randomness::Error;
};

}  // namespace lamella::autograd
