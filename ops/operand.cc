#include "ops/operand.h"

namespace lamella {

Tensor number_tensor(Scalar value, DType dtype) {
  Tensor result = empty({}, dtype);
  visit<AnyDType>(dtype, "number", [&]<class T> {
    T* data = result.data<T>();
    if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
      *data = T(value.to<float>());
    } else if constexpr (std::is_same_v<T, bool>) {
      *data = value.kind() == Scalar::Kind::Float ? value.to<double>() != 0 : value.to<std::int64_t>() != 0;
    } else if constexpr (std::is_arithmetic_v<T>) {
      *data = value.to<T>();
    } else {
      *data = T(value.to<typename T::value_type>());
    }
  });
  return result;
}

}  // namespace lamella
