#pragma once

#include <array>

#include "ops/operand.h"

namespace lamella {

/// Two operands as float32 or float64, broadcast to each other, and the dtype of the result: their promoted dtype; half
/// types are computed in float32. Throws TypeError if that is complex.
struct FloatPair {
  Tensor first;
  Tensor second;
  DType dtype;

  FloatPair(const Operand& a, const Operand& b, const char* op);
};

}  // namespace lamella
