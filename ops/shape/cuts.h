#pragma once

#include <initializer_list>

#include "engine/core/error.h"
#include "engine/core/tensor.h"

namespace lamella {

/// How an axis is cut: into a number of parts, or as a list says, which may be of one number.
struct Cuts {
  Cuts(std::int64_t count) : numbers{count}, is_count(true) {}
  Cuts(const Dims& list) : numbers(list) {}
  Cuts(std::initializer_list<std::int64_t> list) : numbers(list) {}

  /// How many parts there are to be; ValueError for none, or for more than memory has room for as tensors.
  std::int64_t count(const char* op) const {
    constexpr std::int64_t kMost = 1 << 24;
    if (numbers[0] < 1) fail<ValueError>("[", op, "] needs at least 1 part, got ", numbers[0]);
    if (numbers[0] > kMost) fail<ValueError>("[", op, "] makes at most ", kMost, " parts, got ", numbers[0]);
    return numbers[0];
  }

  Dims numbers;
  bool is_count = false;
};

}  // namespace lamella
