#pragma once

#include <cstdint>

#include "engine/core/shape.h"

namespace c10 {

/// Returns an axis, which may count from the end, as one from 0; IndexError if there is no such axis. A tensor without
/// axes has an axis 0 unless `wrap_scalar` is false.
inline std::int64_t maybe_wrap_dim(std::int64_t axis, std::int64_t axes, bool wrap_scalar = true) {
  const std::int64_t count = axes == 0 && wrap_scalar ? 1 : axes;
  return static_cast<std::int64_t>(lamella::normalize_axis(axis, static_cast<std::size_t>(count), "maybe_wrap_dim"));
}

}  // namespace c10
