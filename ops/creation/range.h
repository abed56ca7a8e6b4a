#pragma once

#include <cstdint>

namespace lamella {

/// Numbers a step apart, as a device's kernel makes them.
struct Range {
  /// True if the numbers are integers, first + i * step modulo 2^64; they are doubles otherwise.
  bool whole;
  std::uint64_t first_integer = 0;
  std::uint64_t integer_step = 0;
  double first = 0;
  double step = 0;
  /// The last number, where `has_last` says so: rounding may miss it.
  bool has_last = false;
  double last = 0;
};

}  // namespace lamella
