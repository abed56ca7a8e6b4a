#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/core/small_vector.h"

namespace lamella {

/// An axis of a tensor's memory that shape() does not show: vmap hides the axis that it maps over, so that a function
/// written for one example sees one example.
struct HiddenAxis {
  /// The call of vmap that hides the axis; increases with nesting.
  std::uint64_t level = 0;
  std::int64_t size = 0;
  /// Stride in elements.
  std::int64_t stride = 0;
};

/// Hidden axes in the order of their levels.
using HiddenAxes = SmallVector<HiddenAxis, 2>;

/// Returns the axis that a call of vmap hides, or null; `axes` may be null.
inline const HiddenAxis* find_level(const HiddenAxes* axes, std::uint64_t level) {
  if (!axes) return nullptr;
  const auto* const found = std::ranges::find(*axes, level, &HiddenAxis::level);
  return found == axes->end() ? nullptr : found;
}

}  // namespace lamella
