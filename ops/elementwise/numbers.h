#pragma once

#include <array>
#include <span>

#include "ops/elementwise/elementwise.h"

// Python's integers beside tensors of integer dtypes that do not hold them.

namespace lamella {

/// Returns a number as the 0-d operand of `op` at `place` beside tensors of `dtype`. An integer that `dtype` does not
/// hold wraps around for operators whose results wrap around, which are then right modulo 2^n; for logical operators,
/// any number but 0 is true. All other operators throw ValueError, as do powers of integers with a negative exponent.
Tensor integer_operand(const ElementwiseOp& op, Scalar number, std::size_t place, DType dtype);
inline Tensor number_operand(const ElementwiseOp& op, const Scalar& number, std::size_t place, DType dtype) {
  return is_integral(dtype) ? integer_operand(op, number, place, dtype) : number_tensor(number, dtype);
}

/// True if `op` orders its operands, one of which is an integer that no tensor of `dtype` holds. Its result is then the
/// same for all elements.
bool compares_beyond(const ElementwiseOp& op, std::span<const Operand* const> operands, DType dtype);

/// Returns numbers within every integer dtype's range that are ordered like the operands of compares_beyond(): 0 or 1
/// for the tensor, the other of both for the integer. They are in the order of the operands.
std::array<Scalar, 2> ordered_like(std::span<const Operand* const> operands);

/// Returns a bound of clip() for elements of `dtype`: the nearest number that `dtype` holds, if a lower bound is below
/// them all or an upper bound above them all; `bound` itself otherwise.
Operand within(const Operand& bound, DType dtype, bool above);

}  // namespace lamella
