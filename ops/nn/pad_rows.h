#pragma once

#include "engine/core/tensor.h"

namespace lamella {

/// The values beside a tensor's elements after padding.
enum class PadMode : std::uint8_t { Constant, Reflect, Replicate, Circular };

/// Numbers of elements added before and after the last axes, the last axis first, as pad() takes them; negative numbers
/// cut. Already checked.
struct PadSettings {
  Dims sizes;
  PadMode mode = PadMode::Constant;
  Scalar value = 0;
};

/// Returns x padded in one pass, on the CPU or on meta. Recorded.
Tensor pad_rows(const Tensor& x, const PadSettings& padding);

}  // namespace lamella
