#pragma once

#include <initializer_list>

#include "engine/core/error.h"
#include "engine/core/tensor.h"

namespace lamella {

/// How many parts an axis may have: beside an axis of no elements it can be longer than any list of tensors.
inline constexpr std::int64_t kMostParts = 1 << 24;

/// `count`; ValueError where it is more than kMostParts.
inline std::int64_t checked_parts(const char* op, std::int64_t count) {
  if (count > kMostParts) fail<ValueError>("[", op, "] makes at most ", kMostParts, " parts, got ", count);
  return count;
}

/// How an axis is cut: into a number of parts, or as a list says, which may be of one number.
struct Cuts {
  Cuts(std::int64_t count) : numbers{count}, is_count(true) {}
  Cuts(const Dims& list) : numbers(list) {}
  Cuts(std::initializer_list<std::int64_t> list) : numbers(list) {}

  /// How many parts there are to be; ValueError for none, or for more than memory has room for as tensors.
  std::int64_t count(const char* op) const {
    if (numbers[0] < 1) fail<ValueError>("[", op, "] needs at least 1 part, got ", numbers[0]);
    return checked_parts(op, numbers[0]);
  }

  Dims numbers;
  bool is_count = false;
};

}  // namespace lamella
