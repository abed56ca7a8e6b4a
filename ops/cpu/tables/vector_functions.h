#pragma once

#include "engine/core/dtype.h"

namespace lamella::cpu {

/// Functions of vectors that are called by address, from code that is compiled at run time.
enum class VectorFunction {
  Sqrt,
  Floor,
  Ceil,
  Trunc,
  Round,
  Exp,
  Exp2,
  Expm1,
  Log,
  Log1p,
  Log2,
  Log10,
  Sin,
  Cos,
  Tan,
  Asin,
  Acos,
  Atan,
  Sinh,
  Cosh,
  Tanh,
  Asinh,
  Acosh,
  Atanh,
  Erf,
  Erfc,
  Erfinv,
  Lgamma,
  Digamma,
  Gelu,
  Pow,
  Fmod,
  Atan2,
  Hypot,
  NextAfter,
  Zeta,
};
inline constexpr int kVectorFunctionCount = static_cast<int>(VectorFunction::Zeta) + 1;

/// The functions, which take and return registers of float32 and float64 as the machine's calls pass them.
struct VectorFunctionTable {
  using Address = void (*)();

  /// Bytes of a register.
  int bytes;
  Address float32[kVectorFunctionCount];
  Address float64[kVectorFunctionCount];
};

void fill_vector_functions(VectorFunctionTable& table);

}  // namespace lamella::cpu
