#include "ops/support/promotion.h"

#include "ops/support/checks.h"
#include "ops/support/dtypes.h"

namespace lamella {

DType with_number(DType dtype, Scalar::Kind kind) {
  switch (kind) {
    case Scalar::Kind::Bool:
      return dtype;
    case Scalar::Kind::Int:
      return dtype == DType::Bool ? DType::Int64 : dtype;
    case Scalar::Kind::Float:
      return is_differentiable(dtype) ? dtype : kDefaultFloat;
    case Scalar::Kind::Complex:
      return complex_dtype(dtype);
  }
  return dtype;
}

DType default_dtype(Scalar::Kind kind) { return with_number(DType::Bool, kind); }

DType promoted_dtype(std::span<const Operand* const> operands) {
  bool any_tensor = false;
  DType dtype = DType::Bool;
  for (const Operand* operand : operands) {
    if (operand->is_number()) continue;
    const DType d = operand->tensor().dtype();
    dtype = any_tensor ? promote_types(dtype, d) : d;
    any_tensor = true;
  }
  for (const Operand* operand : operands) {
    if (operand->is_number()) dtype = with_number(dtype, operand->number().kind());
  }
  return dtype;
}

DType common_float(const Operand& a, const Operand& b, const char* op) {
  for (const Operand* x : {&a, &b}) {
    if (!x->is_number()) check_defined(x->tensor(), op);
  }
  const Operand* const operands[] = {&a, &b};
  const DType promoted = promoted_dtype(operands);
  if (is_complex(promoted)) refuse_dtype(promoted, Real | Boolean, op);
  return is_floating(promoted) ? promoted : kDefaultFloat;
}

bool can_cast(DType from, DType to) {
  if (from == to || from == DType::Bool) return true;
  // uint64 and a signed integer are the only pair without a common dtype.
  const auto is_uint64_and_signed = [](DType a, DType b) { return a == DType::UInt64 && SignedInteger.contains(b); };
  if (is_uint64_and_signed(from, to) || is_uint64_and_signed(to, from)) return false;
  return promote_types(from, to) == to;
}

}  // namespace lamella
