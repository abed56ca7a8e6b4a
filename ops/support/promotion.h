#pragma once

#include <span>

#include "engine/core/dtype.h"
#include "ops/operand.h"

namespace lamella {

/// Returns the dtype that `dtype` promotes to beside a number. Only the number's kind matters, as in the array API
/// standard (2024.12, "Mixing arrays with Python scalars") and, where that leaves the result undefined, as in PyTorch:
/// an int makes a bool int64, a float makes integers and bools the default floating dtype, a complex number makes a
/// dtype complex.
DType with_number(DType dtype, Scalar::Kind kind);

/// Returns the dtype of a number if there is no tensor operand.
DType default_dtype(Scalar::Kind kind);

/// Returns the common dtype of the operands: promote_types() of the tensors, with_number() for the numbers. After
/// promote_by_rank(true), tensors without axes count less than others. The operands must be defined.
DType promoted_dtype(std::span<const Operand* const> operands);

/// Sets for the process whether a tensor without axes changes the dtype of tensors with axes only where its kind is
/// higher, in the order bool, integer, floating, complex. That is PyTorch's rule ("Tensor Attributes: type promotion");
/// the array API standard lets all tensors count alike, which is the default.
void promote_by_rank(bool enabled) noexcept;

/// Returns the floating dtype that two operands are computed in: their promoted dtype, or the default one for integers
/// and bools. Throws TypeError if that is complex.
DType common_float(const Operand& a, const Operand& b, const char* op);

/// True if promote_types(from, to) is `to`.
bool can_cast(DType from, DType to);

}  // namespace lamella
