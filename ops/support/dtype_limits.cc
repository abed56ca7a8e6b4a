#include "ops/support/dtype_limits.h"

#include <limits>
#include <utility>

#include "ops/support/dtypes.h"

namespace lamella {

FloatLimits float_limits(DType dtype) {
  switch (real_dtype(dtype)) {
    case DType::Float16:
      return {.bits = 16, .eps = 0x1p-10, .max = 65504, .smallest_normal = 0x1p-14};
    case DType::BFloat16:
      return {.bits = 16, .eps = 0x1p-7, .max = 0x1.fep127, .smallest_normal = 0x1p-126};
    case DType::Float32:
      return {.bits = 32, .eps = 0x1p-23, .max = std::numeric_limits<float>::max(), .smallest_normal = 0x1p-126};
    case DType::Float64:
      return {.bits = 64, .eps = 0x1p-52, .max = std::numeric_limits<double>::max(), .smallest_normal = 0x1p-1022};
    default:
      fail<TypeError>("[finfo] expected a floating or complex dtype, got ", dtype);
  }
}

IntegerLimits integer_limits(DType dtype) {
  if (!is_integral(dtype)) fail<TypeError>("[iinfo] expected an integer dtype, got ", dtype);
  return visit<Integral>(dtype, "iinfo", []<class T> {
    return IntegerLimits{.bits = 8 * sizeof(T),
                         .min = static_cast<std::int64_t>(std::numeric_limits<T>::min()),
                         .max = static_cast<std::uint64_t>(std::numeric_limits<T>::max())};
  });
}

bool fits_into_integers(Scalar value, DType dtype) {
  if (value.kind() != Scalar::Kind::Bool && value.kind() != Scalar::Kind::Int) return true;
  return visit<Integral>(dtype, "number", [&]<class T> {
    return value.beyond_int64() ? std::in_range<T>(value.to<std::uint64_t>())
                                : std::in_range<T>(value.to<std::int64_t>());
  });
}

bool is_of_kind(DType dtype, std::string_view kind) {
  static constexpr std::pair<std::string_view, DTypeSet> kKinds[] = {
      {"bool", Boolean},      {"signed integer", SignedInteger}, {"unsigned integer", UnsignedInteger},
      {"integral", Integral}, {"real floating", Floating},       {"complex floating", Complex},
      {"numeric", Numeric},
  };
  for (const auto& [name, set] : kKinds) {
    if (name == kind) return set.contains(dtype);
  }
  fail<ValueError>("[isdtype] unknown kind '", kind, "'");
}

}  // namespace lamella
