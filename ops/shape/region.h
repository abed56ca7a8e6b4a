#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "engine/core/tensor.h"

namespace lamella {

/// A slice start:stop:step, as in Python.
struct Slice {
  std::optional<std::int64_t> start;
  std::optional<std::int64_t> stop;
  std::int64_t step = 1;
};
/// `...`: as many whole axes as the other items leave.
struct Ellipsis {};
/// `None`: a new axis of size 1.
struct NewAxis {};

/// An item of x[a, b, ...]: an integer, a slice, an ellipsis, a new axis, or a tensor of integers or bools.
using IndexItem = std::variant<std::int64_t, Slice, Ellipsis, NewAxis, Tensor>;
using IndexItems = std::vector<IndexItem>;

/// The part of a tensor that basic indexing selects, described by axes, so that it can be found in a tensor of the same
/// shape with other strides.
struct Region {
  struct Axis {
    std::int64_t source;  ///< axis of the tensor, or -1 for a new axis
    std::int64_t start;
    std::int64_t step;
    std::int64_t count;
    bool keep;  ///< false if an integer selected one element
  };
  std::vector<Axis> axes;

  /// True if the region is an unchanged whole tensor of that shape.
  bool is_whole(DimsView shape) const;
  /// Returns the region of x as a view off the tape.
  Tensor of(const Tensor& x) const;
};

/// Resolves items without tensors; throws IndexError as index() does.
Region basic_region(DimsView shape, const IndexItems& items);
/// Returns x's region as a recorded view; its gradient is placed into zeros.
Tensor slice(const Tensor& x, const Region& region);

}  // namespace lamella
