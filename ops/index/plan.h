#pragma once

#include <vector>

#include "engine/core/tensor.h"

namespace lamella {

/// What tensors in an index pick: some axes of a tensor are replaced by the elements (or the slices of all other axes)
/// that numbers name.
struct PickPlan {
  /// Neighboring axes, from `axis` on, that one tensor of numbers picks along: in row-major order over the `span` of
  /// them.
  struct Group {
    std::size_t axis = 0;
    std::size_t span = 1;
    Tensor numbers;  ///< int64, contiguous, 0 or above and below the axes' size
  };

  std::vector<Group> groups;  ///< by their axes, ascending
  Dims shape;                 ///< what the groups' numbers broadcast to
  std::size_t place = 0;      ///< how many of the other axes come before that shape in the result
  bool distinct = false;      ///< no element is picked twice

  /// The axes of a tensor with `ndim` axes that are not picked along.
  Dims other_axes(std::size_t ndim) const;
  /// What picking from a tensor of the given shape gives.
  Dims result_shape(DimsView from) const;
};

/// Picks along a single axis. `numbers` as in a Group, of any shape.
PickPlan plan_along(std::size_t axis, const Tensor& numbers);

/// Integers as int64 and contiguous, those below 0 counted from the end; IndexError where one is out of range for the
/// axis of the given number and size, TypeError where they are no integers. For tensors elsewhere than on the CPU, and
/// batched ones, the range is checked when they are used.
Tensor checked_numbers(const Tensor& numbers, std::int64_t size, std::int64_t axis, const char* op,
                       bool from_end = true);

/// The picked elements, recorded: a new tensor. Its gradient is place().
Tensor pick(const Tensor& x, const PickPlan& plan);
/// The transpose of pick(): zeros of the given shape to which x's elements are added where they were picked, in the
/// order of the picks. Recorded.
Tensor place(const Tensor& x, const PickPlan& plan, const Dims& shape);

/// A copy of x with x[plan] += value, each pick in its turn; `value` has the shape of the result. Recorded.
Tensor add_at(const Tensor& x, const PickPlan& plan, const Tensor& value);

/// x[plan] = value, off the tape, on the CPU: of elements picked several times the last pick counts. `value` has the
/// shape of the result and x's dtype, and shares no memory with x.
void write_picks(const Tensor& x, const PickPlan& plan, const Tensor& value);
/// x[plan] += value, in the same way, each pick in its turn.
void add_picks(const Tensor& x, const PickPlan& plan, const Tensor& value);

}  // namespace lamella
