#pragma once

#include <cstdint>

namespace lamella::autograd {

/// What random operators do under vmap.
enum class Randomness : std::uint8_t {
  /// RuntimeError.
  Error,
  /// Each example gets numbers of its own.
  Different,
  /// All examples get the same numbers.
  Same,
};

/// A call of vmap that is under way.
struct BatchScope {
  std::uint64_t level = 0;
  std::int64_t size = 0;
  Randomness randomness = Randomness::Error;
};

}  // namespace lamella::autograd
