#pragma once

#include <initializer_list>

#include "engine/core/error.h"
#include "engine/core/tensor.h"

namespace lamella {

/// Largest number of parts of an axis: with an axis of size 0 beside it, an axis may be longer than any list of
/// tensors.
inline constexpr std::int64_t kMostParts = 1 << 24;

/// Returns `count`; throws ValueError if it exceeds kMostParts.
inline std::int64_t checked_parts(const char* op, std::int64_t count) {
  if (count > kMostParts) fail<ValueError>("[", op, "] makes at most ", kMostParts, " parts, got ", count);
  return count;
}

/// Division of an axis: into a number of equal parts, or as a list says, which may have a single entry.
struct Cuts {
  Cuts(std::int64_t count) : numbers{count}, is_count(true) {}
  Cuts(const Dims& list) : numbers(list) {}
  Cuts(std::initializer_list<std::int64_t> list) : numbers(list) {}

  /// Returns the number of parts; throws ValueError if it is below 1 or above kMostParts.
  std::int64_t count(const char* op) const {
    if (numbers[0] < 1) fail<ValueError>("[", op, "] needs at least 1 part, got ", numbers[0]);
    return checked_parts(op, numbers[0]);
  }

  Dims numbers;
  bool is_count = false;
};

}  // namespace lamella
