#pragma once

#include "ops/cuda/wide_divide.h"
#include "ops/cuda/windows.h"
#include "ops/nn/pool_layers.h"

namespace lamella::cuda {

/// The windows of a plane, with its sizes.
struct PoolShape {
  PoolWindows d;
  PoolWindows h;
  PoolWindows w;

  explicit PoolShape(const PoolPlan& plan) : d(plan.windows()[0]), h(plan.windows()[1]), w(plan.windows()[2]) {}

  ImageWindows::Sizes in() const { return {d.in, h.in, w.in}; }
  ImageWindows::Sizes out() const { return {d.out, h.out, w.out}; }
};

/// The windows along an axis that contain an element.
class WindowsAround {
 public:
  explicit WindowsAround(const PoolWindows& axis)
      : axis_(axis),
        by_(axis.adaptive ? axis.in : axis.stride),
        whole_(axis.out / axis.in),
        part_(axis.out % axis.in) {}

  __device__ const PoolWindows& axis() const { return axis_; }

  /// Calls f(o) for the windows that contain element i, in order.
  template <class F>
  __device__ void for_each(std::int64_t i, F&& f) const {
    const std::int64_t at = i + axis_.pad_low;
    // Windows `first` to `last` are those between whose ends the element lies.
    const std::int64_t beyond = at - axis_.step * (axis_.kernel - 1) - 1;
    const std::int64_t reached = by_.quotient(axis_.adaptive ? (i + 1) * part_ + axis_.in - 1 : at);
    std::int64_t first = 0;
    std::int64_t last = reached < axis_.out ? reached : axis_.out - 1;
    if (axis_.adaptive) {
      first = i * whole_ + by_.quotient(i * part_);
      last = (i + 1) * whole_ + reached - 1;
    } else if (beyond >= 0) {
      first = by_.quotient(beyond) + 1;
    }
    const bool gaps = !axis_.adaptive && axis_.step != 1;
    for (std::int64_t o = first; o <= last; ++o) {
      if (!gaps || (at - o * axis_.stride) % axis_.step == 0) f(o);
    }
  }

 private:
  PoolWindows axis_;
  WideDivide by_;
  std::int64_t whole_;  // windows per element of adaptive ones, with the remainder `part_`
  std::int64_t part_;
};

/// The windows of a plane around its elements.
struct PlaneAround {
  WindowsAround d;
  WindowsAround h;
  WindowsAround w;

  explicit PlaneAround(const PoolShape& shape) : d(shape.d), h(shape.h), w(shape.w) {}
};

inline std::int64_t elements_of(const ImageWindows::Sizes& sizes) { return sizes[0] * sizes[1] * sizes[2]; }

/// Runs a kernel for windows of few neighbors, and returns true; or false where it has none.
bool pool_small_windows(const PoolCall& call, const Tensor& from, const Tensor& to, const Tensor& places);
/// Computes PoolStep::Max.
void pool_largest(const PoolCall& call, const Tensor& from, const Tensor& to, const Tensor& places);

}  // namespace lamella::cuda
