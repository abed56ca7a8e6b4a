#include "ops/operand.h"

#include "ops/simd/convert.h"

namespace lamella {

Tensor number_tensor(Scalar value, DType dtype) {
  if (value.kind() == Scalar::Kind::Complex && !is_complex(dtype))
    fail<TypeError>("a complex number cannot be converted to dtype ", dtype);
  Tensor result = empty({}, dtype);
  visit<AnyDType>(dtype, "number", [&]<class T> {
    T* data = result.data<T>();
    const bool whole = value.kind() == Scalar::Kind::Bool || value.kind() == Scalar::Kind::Int;
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, std::uint64_t> && !std::is_same_v<T, bool>) {
      if (value.beyond_int64())
        fail<ValueError>("the integer ", value.to<std::uint64_t>(), " does not fit into dtype ", dtype);
    }
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
