#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/core/shape.h"

namespace lamella {

/// A contiguous tensor viewed along one axis as [outer, n, inner].
struct Along {
  std::int64_t outer = 1;
  std::int64_t n = 1;
  std::int64_t inner = 1;

  Along(DimsView shape, std::int64_t axis) {
    const auto at = static_cast<std::size_t>(axis);
    for (std::size_t i = 0; i < shape.size(); ++i) (i < at ? outer : i == at ? n : inner) *= shape[i];
  }
};

}  // namespace lamella
