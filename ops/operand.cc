#include "ops/operand.h"

#include "ops/simd/convert.h"
#include "ops/support/dtype_limits.h"

namespace lamella {

Tensor number_tensor(Scalar value, DType dtype) {
  if (value.kind() == Scalar::Kind::Complex && !is_complex(dtype))
    fail<TypeError>("a complex number cannot be converted to dtype ", dtype);
  if (!fits_into(value, dtype)) {
    if (value.beyond_int64())
      fail<ValueError>("the integer ", value.to<std::uint64_t>(), " does not fit into dtype ", dtype);
    fail<ValueError>("the integer ", value.to<std::int64_t>(), " does not fit into dtype ", dtype);
  }
  Tensor result = empty({}, dtype);
  visit<AnyDType>(dtype, "number", [&]<class T> {
    T* data = result.data<T>();
    const bool whole = value.kind() == Scalar::Kind::Bool || value.kind() == Scalar::Kind::Int;
    if constexpr (kIsComplex<T>) {
      using Part = typename T::value_type;
      *data = T(value.to<Part>(), static_cast<Part>(value.imaginary()));
    } else if constexpr (std::is_same_v<T, bool>) {
      *data = value.to<double>() != 0;
    } else if constexpr (std::is_integral_v<T>) {
      *data = whole ? value.to<T>() : convert<T>(value.to<double>());
    } else if constexpr (kIsHalf<T>) {
      *data = T(value.to<float>());
    } else {
      *data = value.to<T>();
    }
  });
  return result;
}

}  // namespace lamella
