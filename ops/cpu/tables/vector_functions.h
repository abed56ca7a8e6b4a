#pragma once

#include "engine/core/dtype.h"

namespace lamella::cpu {

/// Functions of numbers that are called by address, from code that is compiled at run time.
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

/// The functions of float32 and float64. For the element T each is a
///     void (const T* a, const T* b, T* out, std::int64_t n)
/// that computes n numbers, whole registers of them; `b` is null for functions of one number, and `out` may be `a` or
/// `b`.
struct VectorFunctionTable {
  using Address = void (*)();

  /// Bytes of a register.
  int bytes;
  Address float32[kVectorFunctionCount];
  Address float64[kVectorFunctionCount];
};

void fill_vector_functions(VectorFunctionTable& table);

}  // namespace lamella::cpu
