#include "ops/special/operands.h"

#include "ops/creation/creation.h"
#include "ops/movement/cast.h"
#include "ops/shape/broadcast.h"
#include "ops/support/checks.h"
#include "ops/support/dtypes.h"
#include "ops/support/promotion.h"

namespace lamella {

FloatPair::FloatPair(const Operand& a, const Operand& b, const char* op) {
  dtype = common_float(a, b, op);
  const auto is = [&](const Operand& x, bool (*holds)(DType)) { return !x.is_number() && holds(x.tensor().dtype()); };
  const bool integers = !is(a, is_differentiable) && !is(b, is_differentiable);
  const bool large = integers && (is(a, is_wide_integer) || is(b, is_wide_integer));
  const DType wide = dtype == DType::Float64 || large ? DType::Float64 : DType::Float32;
  const Device device = !a.is_number() ? a.tensor().device() : !b.is_number() ? b.tensor().device() : kCPU;
  const auto tensor = [&](const Operand& x) {
    return x.is_number() ? full({}, x.number(), wide, device) : cast(x.tensor(), wide);
  };
  first = tensor(a);
  second = tensor(b);
  check_same_device(first, second, op);
  const Dims shape = broadcast_shapes(first.shape(), second.shape(), op);
  first = broadcast_to(first, shape);
  second = broadcast_to(second, shape);
}

}  // namespace lamella
