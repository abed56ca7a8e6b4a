#pragma once

#include "engine/core/tensor.h"

namespace lamella {

/// What stands beside a tensor's elements once it is padded.
enum class PadMode : std::uint8_t { Constant, Reflect, Replicate, Circular };

/// How many elements are added before and behind the last axes, the last one first, as pad() takes them; negative
/// numbers cut. They are checked.
struct Padding {
  Dims sizes;
  PadMode mode = PadMode::Constant;
  Scalar value = 0;
};

/// x padded, in one pass, on the CPU or on meta. Recorded.
Tensor pad_rows(const Tensor& x, const Padding& padding);

}  // namespace lamella
