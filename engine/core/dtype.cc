#include "engine/core/dtype.h"

#include <ostream>

namespace lamella {

std::ostream& operator<<(std::ostream& out, DType dtype) { return out << name(dtype); }

namespace {

DType promote_integers(DType a, DType b) {
  const bool a_signed = SignedInteger.contains(a);
  const bool b_signed = SignedInteger.contains(b);
  if (a_signed == b_signed) return item_size(a) >= item_size(b) ? a : b;
  const DType with_sign = a_signed ? a : b;
  const DType without = a_signed ? b : a;
  if (item_size(with_sign) > item_size(without)) return with_sign;
  switch (without) {
    case DType::UInt8:
      return DType::Int16;
    case DType::UInt16:
      return DType::Int32;
    case DType::UInt32:
      return DType::Int64;
    default:
      fail<TypeError>("[promote_types] no dtype holds the values of both ", a, " and ", b);
  }
}

DType promote_floats(DType a, DType b) {
  if (item_size(a) == item_size(b)) return DType::Float32;
  return item_size(a) > item_size(b) ? a : b;
}

}  // namespace

DType promote_types(DType a, DType b) {
  if (a == b) return a;
  if (a == DType::Bool) return b;
  if (b == DType::Bool) return a;
  if (is_complex(a) || is_complex(b)) {
    const auto is_double = [](DType d) { return d == DType::Float64 || d == DType::Complex128; };
    return is_double(a) || is_double(b) ? DType::Complex128 : DType::Complex64;
  }
  if (is_floating(a) && is_floating(b)) return promote_floats(a, b);
  if (is_floating(a)) return a;
  if (is_floating(b)) return b;
  return promote_integers(a, b);
}

}  // namespace lamella
