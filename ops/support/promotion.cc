#include "ops/support/promotion.h"

#include <atomic>
#include <optional>

#include "ops/support/checks.h"
#include "ops/support/dtypes.h"

namespace lamella {
namespace {

std::atomic<bool> by_rank = false;

/// Returns the dtype of tensors with axes, of dtype `high`, together with tensors without axes, of dtype `low`.
DType beside_scalars(DType high, DType low) {
  if (is_complex(high)) return high;
  if (is_floating(high)) return is_complex(low) ? complex_dtype(high) : high;
  if (high != DType::Bool && !is_differentiable(low)) return high;
  return promote_types(high, low);
}

/// Returns the common dtype of the tensors among the operands, in which those without axes count less.
[[gnu::cold, gnu::noinline]] DType promoted_by_rank(std::span<const Operand* const> operands) {
  std::optional<DType> high, low;
  for (const Operand* operand : operands) {
    if (operand->is_number()) continue;
    const Tensor& x = operand->tensor();
    std::optional<DType>& dtype = x.ndim() == 0 ? low : high;
    dtype = dtype ? promote_types(*dtype, x.dtype()) : x.dtype();
  }
  return high && low ? beside_scalars(*high, *low) : high.value_or(low.value_or(DType::Bool));
}

}  // namespace

void promote_by_rank(bool enabled) noexcept { by_rank.store(enabled, std::memory_order_relaxed); }

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
    if (!any_tensor) {
      dtype = d;
    } else if (d != dtype) {
      if (by_rank.load(std::memory_order_relaxed)) [[unlikely]] {
        dtype = promoted_by_rank(operands);
        break;
      }
      dtype = promote_types(dtype, d);
    }
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
