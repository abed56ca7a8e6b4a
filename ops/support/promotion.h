#pragma once

#include <span>

#include "engine/core/dtype.h"
#include "ops/operand.h"

namespace lamella {

/// How a number changes the dtype of the tensors beside it: by its kind only, as in the array API standard (2024.12,
/// "Mixing arrays with Python scalars") and, where that leaves it undefined, as in PyTorch: an int makes a bool int64,
/// a float makes integers and bools the default floating dtype, a complex number makes a dtype complex.
DType with_number(DType dtype, Scalar::Kind kind);

/// The dtype of a number where no tensor is beside it.
DType default_dtype(Scalar::Kind kind);

/// The dtype that the operands are computed in: that of the tensors by promote_types(), of the numbers by their kinds.
/// The operands are defined.
DType promoted_dtype(std::span<const Operand* const> operands);

/// An operand as a tensor of `dtype`; of a number a 0-d one on the CPU.
Tensor in_dtype(const Operand& operand, DType dtype);

/// Whether every value of `from` is one of `to`, by the promotion rules: promote_types(from, to) is `to`.
bool can_cast(DType from, DType to);

}  // namespace lamella
