#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/cpu/tables/fft.h"

namespace lamella {

/// Transforms along one axis by a device's kernel.
struct FftCall {
  cpu::FftKind kind;
  std::size_t axis;
  std::int64_t length;  ///< length of the transform: on the real side, if there is one
  double scale;
  bool forward;
  /// True if coefficients that stand for their conjugates as well count twice.
  bool doubled;
};

}  // namespace lamella
