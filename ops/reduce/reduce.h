#pragma once

#include <optional>

#include "engine/autograd/saved/context.h"
#include "engine/core/tensor.h"
#include "ops/reduce/cpu/table.h"

namespace lamella {

/// Reduces `axes` (sorted, counted from the front) of x to a new tensor; sizes of 1 stay in their place where
/// `keepdims` is set.
///
/// The result has `dtype`; where none is given, that of cpu::reduce_result(), but x's own for 16-bit floats, which are
/// reduced in float32 and rounded once. Not recorded. An axis of length 0 gives 0 for a sum and 1 for a product, False
/// for any and True for all, and is a ValueError for the others. The result has the same bits for any number of
/// threads: a long axis is cut at places that depend on the shape alone.
Tensor reduce(cpu::Reduction reduction, const Tensor& x, const Dims& axes, bool keepdims, const char* op,
              std::optional<DType> dtype = std::nullopt);

/// x's shape with `axes` of size 1, or without them.
Dims reduced_shape(const Tensor& x, const Dims& axes, bool keepdims);

/// For the layers of reductions: keeps the shapes of x and of the result in `ctx`.
void remember_axes(Context& ctx, const Tensor& x, const Dims& axes);
/// What remember_axes() was given, for a tensor with the shape of the result: with the reduced axes of size 1, and
/// broadcast to x's shape.
Tensor with_reduced_axes(const Context& ctx, const Tensor& y);
Tensor spread(const Context& ctx, const Tensor& y);

}  // namespace lamella
