#pragma once

#include <string>

#include "engine/core/tensor.h"

namespace lamella::autograd {

/// Tells in words why x.grad is empty, or why x is off the tape, and what to change.
///
/// Answers as precisely as flags and the graph allow; for the very operation and line, the computation (and the
/// backward pass) must have run under Trace. With `of`, a result, tells whether the tape leads from there to x, through
/// which operations, or where it ends. ValueError for an undefined x.
std::string explain(const Tensor& x, const Tensor& of = {});

}  // namespace lamella::autograd
