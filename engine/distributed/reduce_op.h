#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine/core/dtype.h"

namespace lamella::distributed {

/// Operation that joins the elements of all processes.
enum class ReduceOp : std::uint8_t { Sum, Max, Min, Product };

/// Returns "sum", "max", "min" or "product".
std::string_view name(ReduceOp op);

/// Function that writes op(a[i], b[i]) to out[i]; out may be a or b.
using Reduction = void (*)(void* out, const void* a, const void* b, std::size_t count);

/// Returns the function for numbers of a dtype: null for float16 and bfloat16, which are to be joined in float32, for
/// the order of complex numbers, and for sums and products of bools. The larger and the smaller of two numbers are NaN
/// where one is NaN.
Reduction reduction_for(ReduceOp op, DType dtype);

}  // namespace lamella::distributed
