#pragma once

#include <optional>

#include "engine/autograd/saved/context.h"
#include "engine/core/tensor.h"
#include "ops/cpu/tables/reduce.h"

namespace lamella {

/// Reduces `axes` (sorted, counted from the front) of x to a new tensor; reduced axes stay with size 1 if `keepdims` is
/// set.
///
/// The result has `dtype`. If none is given it is that of cpu::reduce_result(), or x's dtype for 16-bit floats, which
/// are reduced in float32 and rounded once. Not recorded. An axis of length 0 gives 0 for a sum, 1 for a product, False
/// for any and True for all; other reductions throw ValueError. The result has the same bits for any number of threads:
/// a long axis is split at positions that depend on the shape alone.
Tensor reduce(cpu::Reduction reduction, const Tensor& x, const Dims& axes, bool keepdims, const char* op,
              std::optional<DType> dtype = std::nullopt);

/// Returns x's shape with `axes` of size 1 (if `keepdims`) or removed.
Dims reduced_shape(const Tensor& x, const Dims& axes, bool keepdims);

/// Stores the shapes of x and of the result in `ctx`, for the backward pass of a reduction.
void remember_axes(Context& ctx, const Tensor& x, const Dims& axes);
/// Reshapes y, of the result's shape, to have the reduced axes with size 1 (with_reduced_axes) or broadcasts it to x's
/// shape (spread); the shapes are those given to remember_axes().
Tensor with_reduced_axes(const Context& ctx, const Tensor& y);
Tensor spread(const Context& ctx, const Tensor& y);

}  // namespace lamella
