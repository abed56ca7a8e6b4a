#pragma once

#include "engine/core/tensor.h"
#include "ops/index/index.h"

namespace lamella {

/// The part of a tensor that basic indexing picks, described by its axes, so that it can be found again in a tensor of
/// the same shape with other strides.
struct Region {
  struct Axis {
    std::int64_t source;  ///< the axis of the tensor; -1 for a new axis
    std::int64_t start;
    std::int64_t step;
    std::int64_t count;
    bool keep;  ///< false where an integer picked one element
  };
  std::vector<Axis> axes;

  /// Whether it is all of a tensor of that shape, as it is.
  bool is_whole(DimsView shape) const;
  /// The region in x: a view off the tape.
  Tensor of(const Tensor& x) const;
};

/// Reads items without tensors; IndexError as index() says.
Region basic_region(DimsView shape, const IndexItems& items);
/// x's region as a view; its gradient is placed into zeros.
Tensor slice(const Tensor& x, const Region& region);

}  // namespace lamella
