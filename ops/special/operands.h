#pragma once

#include <array>

#include "ops/operand.h"

namespace lamella {

/// Two operands as float32 or float64, broadcast to each other, and the dtype of the result: their promoted dtype; half
/// types are computed in float32, integers of 32 and 64 bits in float64. Throws TypeError if that is complex.
struct FloatPair {
  Tensor first;
  Tensor second;
  DType dtype;

  FloatPair(const Operand& a, const Operand& b, const char* op);
};

}  // namespace lamella
