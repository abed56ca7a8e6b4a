#pragma once

#include <cstdint>
#include <optional>

#include "engine/core/tensor.h"

namespace lamella {

/// A view along the axes of a tensor, already checked against its shape: what slices, integers and new axes come to.
struct BasicIndex {
  struct Piece {
    /// The axis of x; -1 for a new one of size 1.
    std::int32_t axis = 0;
    /// The axis is gone from the result (an integer took one element of it).
    bool dropped = false;
    std::int64_t start = 0;
    std::int64_t step = 1;
    std::int64_t length = 1;
  };
  /// One for each axis of x, in order, and for each new one.
  SmallVector<Piece, 4> pieces;

  /// All of each axis of x.
  static BasicIndex whole(const Tensor& x);
  /// Whether the view would be x as it is.
  bool is_whole(const Tensor& x) const;
  /// The shape of the view.
  Dims shape() const;
  /// The view of x, off the tape.
  Tensor of(const Tensor& x) const;
};

/// The view `index` of x. The gradient is 0 outside of it.
Tensor basic_view(const Tensor& x, const BasicIndex& index);
/// A tensor of `shape` that holds x in the view `index`, and 0 elsewhere: the gradient of basic_view().
Tensor embed(const Tensor& x, const Dims& shape, const BasicIndex& index);
/// `length` elements of one axis, from `start`; all within x.
Tensor narrow(const Tensor& x, std::int64_t axis, std::int64_t start, std::int64_t length);

}  // namespace lamella
