#pragma once

#include <initializer_list>

#include "engine/core/tensor.h"

namespace lamella {

/// How an axis is cut: into a number of parts, or as a list says, which may be of one number.
struct Cuts {
  Cuts(std::int64_t count) : numbers{count}, is_count(true) {}
  Cuts(const Dims& list) : numbers(list) {}
  Cuts(std::initializer_list<std::int64_t> list) : numbers(list) {}

  Dims numbers;
  bool is_count = false;
};

}  // namespace lamella
