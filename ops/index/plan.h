#pragma once

#include <vector>

#include "engine/core/tensor.h"
#include "ops/index/picks.h"

namespace lamella {

/// The picks of an index with tensors: some axes of a tensor are replaced by the elements (or slices of all other axes)
/// that numbers select.
struct PickPlan {
  /// Neighboring axes, `span` of them from `axis` on, that one tensor of numbers picks along, in row-major order.
  struct Group {
    std::size_t axis = 0;
    std::size_t span = 1;
    Tensor numbers;  ///< int64, contiguous, in [0, size of the axes); unchecked if batched or on another device
  };

  std::vector<Group> groups;  ///< ascending by axis
  Dims shape;                 ///< the broadcast shape of the groups' numbers
  std::size_t place = 0;      ///< number of unpicked axes in front of `shape` in the result
  bool distinct = false;      ///< true if no element is picked twice
  const char* op = "index";   ///< the operator that errors name
  NegativeIndex negative = NegativeIndex::FromEnd;

  /// Returns the axes of a tensor with `ndim` axes that are not picked along.
  Dims other_axes(std::size_t ndim) const;
  /// Returns the shape of the result of picking from a tensor of shape `from`.
  Dims result_shape(DimsView from) const;
};

/// Returns a plan that picks along a single axis. `numbers` are as in a Group, of any shape.
PickPlan plan_along(std::size_t axis, const Tensor& numbers, const char* op,
                    NegativeIndex negative = NegativeIndex::FromEnd);

/// Returns integers as contiguous int64, negative ones counted from the end. Throws IndexError if one is out of range
/// for the axis of the given number and size, TypeError if the dtype is not an integer dtype. For batched tensors and
/// those on other devices, the range is checked when they are used.
Tensor checked_numbers(const Tensor& numbers, std::int64_t size, std::int64_t axis, const char* op,
                       bool from_end = true);

/// Returns the picked elements as a new tensor; recorded. Its gradient is place().
Tensor pick(const Tensor& x, const PickPlan& plan);
/// Returns the transpose of pick(): zeros of the given shape with x's elements added where they were picked, in the
/// order of the picks. Recorded.
Tensor place(const Tensor& x, const PickPlan& plan, const Dims& shape);

/// Returns a copy of x with x[plan] += value, in the order of the picks; `value` has the shape of the result. Recorded.
Tensor add_at(const Tensor& x, const PickPlan& plan, const Tensor& value);

/// Computes x[plan] = value off the tape, on the CPU or a device with a kernel for it; the last of several picks of an
/// element counts. `value` has the shape of the result and x's dtype, and shares no memory with x.
void write_picks(const Tensor& x, const PickPlan& plan, const Tensor& value);
/// Computes x[plan] += value off the tape on the CPU, in the order of the picks.
void add_picks(const Tensor& x, const PickPlan& plan, const Tensor& value);

}  // namespace lamella
