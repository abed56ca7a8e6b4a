#include "ops/elementwise/numbers.h"

#include <algorithm>

#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/bitwise.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/logical.h"
#include "ops/elementwise/pow.h"
#include "ops/support/dtype_limits.h"

namespace lamella {
namespace {

template <class... Ops>
bool is_one_of(const ElementwiseOp& op) {
  return ((&op == &elementwise_op<Ops>()) || ...);
}

bool is_whole(Scalar number) { return number.kind() == Scalar::Kind::Bool || number.kind() == Scalar::Kind::Int; }

bool is_below_zero(Scalar number) { return !number.beyond_int64() && number.to<std::int64_t>() < 0; }

}  // namespace

Tensor integer_operand(const ElementwiseOp& op, Scalar number, std::size_t place, DType dtype) {
  if (place == 1 && is_whole(number) && is_below_zero(number) && is_one_of<Pow>(op)) {
    fail<ValueError>(
        "[pow] a negative power of an integer is seldom one: cast the base to a floating dtype; got the "
        "exponent ",
        number.to<std::int64_t>(), " for a base of dtype ", dtype);
  }
  if (!is_whole(number) || fits_into(number, dtype)) return number_tensor(number, dtype);
  if (is_one_of<LogicalAnd, LogicalOr, LogicalXor>(op)) return number_tensor(1, dtype);
  // number_tensor() refuses what it does not hold: integers beyond int64 beside any dtype but uint64, even in a sum.
  if (number.beyond_int64()) return number_tensor(number, dtype);
  if (!is_one_of<Add, Subtract, Multiply, BitwiseAnd, BitwiseOr, BitwiseXor>(op)) return number_tensor(number, dtype);
  const auto bits = number.to<std::uint64_t>();
  const int unused = 64 - integer_limits(dtype).bits;
  const auto wrapped = static_cast<std::int64_t>(bits << unused) >> unused;
  if (is_of_kind(dtype, "signed integer")) return number_tensor(wrapped, dtype);
  return number_tensor(bits << unused >> unused, dtype);
}

bool compares_beyond(const ElementwiseOp& op, std::span<const Operand* const> operands, DType dtype) {
  if (operands.size() != 2 || !is_integral(dtype)) return false;
  const bool beyond = std::ranges::any_of(operands, [dtype](const Operand* operand) {
    return operand->is_number() && is_whole(operand->number()) && !fits_into(operand->number(), dtype);
  });
  return beyond && is_one_of<Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual>(op);
}

std::array<Scalar, 2> ordered_like(std::span<const Operand* const> operands) {
  const std::size_t number = operands[0]->is_number() ? 0 : 1;
  const bool below = is_below_zero(operands[number]->number());
  std::array<Scalar, 2> ordered{below ? 1 : 0, below ? 1 : 0};
  ordered[number] = below ? 0 : 1;
  return ordered;
}

Operand within(const Operand& bound, DType dtype, bool above) {
  if (!bound.is_number() || !is_whole(bound.number()) || fits_into(bound.number(), dtype)) return bound;
  if (is_below_zero(bound.number()) == above) return bound;
  const IntegerLimits limits = integer_limits(dtype);
  return above ? Operand(Scalar(limits.max)) : Operand(Scalar(limits.min));
}

}  // namespace lamella
