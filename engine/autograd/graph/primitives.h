#pragma once

#include "engine/core/tensor.h"

namespace lamella::autograd {

struct ViewGeometry;

/// How many elements of a tensor are no finite numbers.
struct NonFinite {
  std::int64_t nan = 0;
  std::int64_t inf = 0;
};

/// The few operations that a backward pass itself performs. The operator layer registers them: the engine names no
/// operator.
struct Primitives {
  /// a + b, recorded where recording is on.
  Tensor (*add)(const Tensor& a, const Tensor& b) = nullptr;
  /// a += b, never recorded.
  void (*add_in_place)(const Tensor& a, const Tensor& b) = nullptr;
  /// A new tensor filled with `value`.
  Tensor (*full)(DimsView shape, DType dtype, Device device, double value) = nullptr;
  /// A copy in `dtype`, recorded.
  Tensor (*cast)(const Tensor& x, DType dtype) = nullptr;
  /// x on `device`: a copy, recorded, or x itself where it is there.
  Tensor (*to_device)(const Tensor& x, Device device) = nullptr;
  /// x summed over the axes along which `shape` was broadcast to x's shape, recorded.
  Tensor (*sum_to)(const Tensor& x, DimsView shape) = nullptr;
  /// A contiguous copy, recorded.
  Tensor (*clone)(const Tensor& x) = nullptr;
  /// Whether an element differs from 0; never recorded.
  bool (*any_nonzero)(const Tensor& x) = nullptr;
  /// The part of x, which has the base's shape and any strides, that lies where the view does in the base; recorded.
  Tensor (*take_view)(const Tensor& x, const ViewGeometry& geometry) = nullptr;
  /// x, which has the view's shape, in a tensor of the base's shape that is 0 elsewhere; what falls on one element of
  /// the base is summed. Recorded.
  Tensor (*place_view)(const Tensor& x, const ViewGeometry& geometry) = nullptr;
  /// A copy of x, which has the base's shape, with 0 where the view lies; recorded.
  Tensor (*clear_view)(const Tensor& x, const ViewGeometry& geometry) = nullptr;
  /// x with its axis 0 hidden at `level`, for the function that vmap maps; recorded.
  Tensor (*hide_axis)(const Tensor& x, std::uint64_t level) = nullptr;
  /// x with the axis that `level` hides as its axis 0; broadcast to `size` where x hides none. Recorded.
  Tensor (*show_axis)(const Tensor& x, std::uint64_t level, std::int64_t size) = nullptr;
  /// x summed over an axis that `level` hides; recorded.
  Tensor (*sum_hidden)(const Tensor& x, std::uint64_t level) = nullptr;
  /// Counts the elements of x that are NaN and infinite; none for integers, and on meta. Never recorded.
  NonFinite (*count_nonfinite)(const Tensor& x) = nullptr;
};

Primitives& primitives();

}  // namespace lamella::autograd
