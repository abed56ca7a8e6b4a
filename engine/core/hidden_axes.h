#pragma once

#include <cstdint>

#include "engine/core/small_vector.h"

namespace lamella {

/// An axis of a tensor's memory that shape() does not show: vmap hides the axis it maps over, so that a function
/// written for one example sees one.
struct HiddenAxis {
  /// The call of vmap that hid it; grows with nesting.
  std::uint64_t level = 0;
  std::int64_t size = 0;
  /// In elements, as the shown ones.
  std::int64_t stride = 0;
};

/// In the order of their levels.
using HiddenAxes = SmallVector<HiddenAxis, 2>;

}  // namespace lamella
