#pragma once

#include <vector>

#include "engine/core/tensor.h"
#include "ops/op_info.h"
#include "ops/operand.h"

// Shapes and slices whose sizes tensors hold, for programs that learn them when they run. Eager code has its sizes as
// numbers, and needs none of these.

namespace lamella {

struct ShapeOf {
  static constexpr OpInfo info{.name = "shape_of",
                               .doc = "The sizes of x's axes as an int64 vector on the CPU.",
                               .example = "shape_of(ones([2, 3]))",
                               .reference = "np.array(np.shape(x), np.int64)",
                               .method = false};
  static Tensor call(const Tensor& x);
};

struct DynamicShape {
  static constexpr OpInfo info{
      .name = "dynamic_shape",
      .doc = "A shape as an int64 vector on the CPU, in which the sizes that tensors hold stand for each -2, in order.",
      .parameters = "sizes, shape",
      .example = "dynamic_shape([asarray(3)], [-2, 4])",
      .method = false};
  static Tensor call(const std::vector<Tensor>& sizes, const Dims& shape);
};

struct DynamicReshape {
  static constexpr OpInfo info{.name = "dynamic_reshape",
                               .doc = "reshape() to the sizes that a vector of integers holds, one of which may be -1.",
                               .parameters = "x, shape",
                               .example = "dynamic_reshape(arange(6), asarray([2, -1]))",
                               .method = false};
  static Tensor call(const Tensor& x, const Tensor& shape);
};

struct DynamicBroadcast {
  static constexpr OpInfo info{.name = "dynamic_broadcast",
                               .doc = "broadcast_to() of the sizes that a vector of integers holds.",
                               .parameters = "x, shape",
                               .example = "dynamic_broadcast(ones([3]), asarray([2, 3]))",
                               .method = false};
  static Tensor call(const Tensor& x, const Tensor& shape);
};

struct DynamicSlice {
  static constexpr OpInfo info{
      .name = "dynamic_slice",
      .doc =
          "A view of x from start up to stop along an axis, as x[start:stop:step] has it: bounds count from the end if "
          "they are negative, and are cut to the axis. Each is an integer, or a tensor of one.",
      .parameters = "x, start, stop, *, axis=0, step=1",
      .example = "dynamic_slice(arange(5), asarray(1), -1)",
      .method = false};
  /// Throws ValueError if step is 0.
  static Tensor call(const Tensor& x, const Operand& start, const Operand& stop, std::int64_t axis, std::int64_t step);
};

/// Returns the sizes that a vector of integers holds; throws ValueError or TypeError that names `op` for another
/// tensor.
Dims sizes_in(const Tensor& sizes, const char* op);

}  // namespace lamella
