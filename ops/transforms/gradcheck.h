#pragma once

#include <span>

#include "ops/transforms/options.h"

// Checks of gradients against differences of the function's values.
//
// A function f of real components x with real components y has the Jacobian J[r, c] = dy_r / dx_c. The tape gives its
// rows, one backward pass each; central differences, (f(x + h e_c) - f(x - h e_c)) / 2h, give its columns. A complex
// element counts as two real components. With the tape's convention, by which the gradient of a real L with respect to
// z = x + iy is dL/dx + i dL/dy (and a gradient that comes in likewise), the rows of such a pair are the passes that
// begin with 1 and with i. (A. Griewank, A. Walther, "Evaluating Derivatives", SIAM 2008, sections 3.2 and 8.1, for the
// real case; K. Kreutz-Delgado, "The Complex Gradient Operator and the CR-Calculus", arXiv:0906.4835, for the complex.)

namespace lamella::autograd {

/// Checks the gradients of `func` with respect to the `inputs` that require one. Results that have no gradient (by
/// dtype, or because a layer marked them so) are left out.
///
/// The inputs are copied for each call, so a function may write into the copies. Throws ValueError if no input requires
/// a gradient, if one is on the meta device, or if its dtype has too few digits for `eps`: float32 needs eps >= 1e-4,
/// half precision 1e-2. Exceptions of the function propagate unchanged.
GradcheckResult gradcheck(const TensorFunction& func, std::span<const Tensor> inputs,
                          const GradcheckOptions& options = {});

/// Checks the gradients of the gradients: gradcheck() of the function that maps the inputs and the outputs' gradients
/// to the inputs' gradients. `grad_outputs` are the starting gradients, random by default.
GradcheckResult gradgradcheck(const TensorFunction& func, std::span<const Tensor> inputs,
                              std::span<const Tensor> grad_outputs = {}, const GradcheckOptions& options = {});

}  // namespace lamella::autograd
