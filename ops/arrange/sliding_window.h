#pragma once

#include "engine/core/tensor.h"
#include "ops/op_info.h"

namespace lamella {

struct SlidingWindow {
  static constexpr OpInfo info{
      .name = "sliding_window",
      .doc =
          "A view of the windows of `size` elements along an axis, `step` apart, in which they lie along a new last "
          "axis (PyTorch's Tensor.unfold). The gradients of elements that belong to several windows are added up.",
      .parameters = "x, axis, size, step=1",
      .example = "sliding_window(arange(5), 0, 3)"};
  /// Throws ValueError if the size is negative or larger than the axis, or the step is below 1.
  static Tensor call(const Tensor& x, std::int64_t axis, std::int64_t size, std::int64_t step);
};

inline Tensor sliding_window(const Tensor& x, std::int64_t axis, std::int64_t size, std::int64_t step = 1) {
  return SlidingWindow::call(x, axis, size, step);
}

/// Returns the transpose of sliding_window() along a last axis of `length` elements: each result is the sum of the
/// elements of x, [.., windows, size], whose windows, `step` apart, cover it, in the order of the windows.
Tensor overlap_add(const Tensor& x, std::int64_t step, std::int64_t length);

}  // namespace lamella
