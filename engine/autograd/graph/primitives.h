#pragma once

#include "engine/core/tensor.h"

namespace lamella::autograd {

struct ViewGeometry;

/// Numbers of NaN and of infinite elements of a tensor.
struct NonFinite {
  std::int64_t nan = 0;
  std::int64_t inf = 0;
};

/// Operations that a backward pass itself performs. The operator layer registers them, as the engine names no operator.
struct Primitives {
  /// Returns a + b, recorded where recording is on.
  Tensor (*add)(const Tensor& a, const Tensor& b) = nullptr;
  /// Adds b to a in place, never recorded.
  void (*add_in_place)(const Tensor& a, const Tensor& b) = nullptr;
  /// Returns a new tensor filled with `value`.
  Tensor (*full)(DimsView shape, DType dtype, Device device, double value) = nullptr;
  /// Returns a copy in `dtype`, recorded.
  Tensor (*cast)(const Tensor& x, DType dtype) = nullptr;
  /// Returns x on `device`: a copy, recorded, or x itself where it is there.
  Tensor (*to_device)(const Tensor& x, Device device) = nullptr;
  /// Returns x summed over the axes along which `shape` was broadcast to x's shape, recorded.
  Tensor (*sum_to)(const Tensor& x, DimsView shape) = nullptr;
  /// Returns a contiguous copy, recorded.
  Tensor (*clone)(const Tensor& x) = nullptr;
  /// True if an element differs from 0; never recorded.
  bool (*any_nonzero)(const Tensor& x) = nullptr;
  /// Returns the part of x, which has the base's shape and any strides, that lies where the view does in the base;
  /// recorded.
  Tensor (*take_view)(const Tensor& x, const ViewGeometry& geometry) = nullptr;
  /// Returns a tensor of the base's shape with x, which has the view's shape, in the view's place and 0 elsewhere.
  /// Elements of x that fall on one element of the base are summed. Recorded.
  Tensor (*place_view)(const Tensor& x, const ViewGeometry& geometry) = nullptr;
  /// Returns a copy of x, which has the base's shape, with 0 where the view lies; recorded.
  Tensor (*clear_view)(const Tensor& x, const ViewGeometry& geometry) = nullptr;
  /// Returns x with its axis 0 hidden at `level`, for the function that vmap maps; recorded.
  Tensor (*hide_axis)(const Tensor& x, std::uint64_t level) = nullptr;
  /// Returns x with the axis that `level` hides as its axis 0; broadcast to `size` where x hides none. Recorded.
  Tensor (*show_axis)(const Tensor& x, std::uint64_t level, std::int64_t size) = nullptr;
  /// Returns x summed over an axis that `level` hides; recorded.
  Tensor (*sum_hidden)(const Tensor& x, std::uint64_t level) = nullptr;
  /// Counts the elements of x that are NaN and infinite; none for integers, and on meta. Never recorded.
  NonFinite (*count_nonfinite)(const Tensor& x) = nullptr;
};

Primitives& primitives();

}  // namespace lamella::autograd
