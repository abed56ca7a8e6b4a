#pragma once

#include "ops/elementwise/elementwise.h"
#include "ops/fusion/native/expression.h"

namespace lamella::fusion::native {

/// Returns the formula of an operator for floating operands, or that of the gradient of input `wrt` (-1: the operator
/// itself), which belongs to the current Steps; null if there is none. Its operands are those of a kernel, in that
/// order: see kKernelOperands.
const Step* formula_of(const ElementwiseOp& op, int wrt);

/// Returns a to the power b as the kernels compute it for exponents that they know, and the call for others.
Expression power(const Expression& a, const Expression& b, double exponent);

/// Returns the formula of gelu_erf without a call of it as a whole.
const Step* gelu_formula();

}  // namespace lamella::fusion::native
