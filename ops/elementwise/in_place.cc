#include "ops/elementwise/in_place.h"

#include <algorithm>

#include "engine/autograd/recording/recorder.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/launch.h"
#include "ops/elementwise/numbers.h"
#include "ops/elementwise/results.h"
#include "ops/elementwise/where.h"
#include "ops/movement/cast.h"
#include "ops/shape/broadcast.h"
#include "ops/support/checks.h"
#include "ops/support/hidden.h"
#include "ops/support/layer.h"
#include "ops/support/promotion.h"
#include "ops/support/strided.h"

namespace lamella {
namespace {

void check_shape(const Tensor& x, DimsView other, const char* op) {
  if (!broadcasts_to(other, x.shape())) {
    fail<ValueError>("[", op, "] shape ", to_string(other), " does not broadcast to the tensor's, ", x.shape());
  }
}

/// Makes another handle on the same values, with a node of its own on the tape.
struct AssignFn : LinearOperatorLayer<AssignFn> {
  static constexpr std::string_view name = "copy_";
  static Tensor forward(Context&, const Tensor& x) { return make_alias(x); }
  static Tensor backward(Context&, const Tensor& dy) { return dy; }
};

Tensor fill(const Tensor& x, Scalar value, const char* op) {
  check_defined(x, op);
  check_writable(x, op);
  const bool recorded = autograd::records_in_place(op, x, Tensor());
  write_value(x, value, op);
  mark_written(x, op);
  if (recorded) autograd::take_place(x, Tensor());
  return x;
}

}  // namespace

Tensor update_in_place(const ElementwiseOp& formula, const Tensor& x, const Operand& other, const char* op) {
  check_defined(x, op);
  check_writable(x, op);
  const Tensor* tensor = other.is_number() ? nullptr : &other.tensor();
  if (tensor) {
    check_defined(*tensor, op);
    check_shape(x, tensor->shape(), op);
    check_room(x, *tensor, op);
  }
  if (autograd::records_in_place(op, x, tensor ? *tensor : Tensor())) {
    // Copies x if its values are read by the gradient, because they are overwritten.
    constexpr unsigned kGradientAlone = 1u << 3;
    const bool reads_operands = ((formula.reads[0] | formula.reads[1]) & ~kGradientAlone) != 0;
    const Tensor before = reads_operands ? clone(x) : x;
    const Tensor result = tensor && tensor->same(x) ? call_elementwise(formula, before, before)
                                                    : call_elementwise(formula, before, other);
    check_kind(x, result.dtype(), op);
    assign_recorded(x, result, op);
    return x;
  }
  const autograd::NoGrad no_grad;
  const bool direct = formula.info->dtypes.contains(x.dtype()) &&
                      (tensor ? tensor->dtype() == x.dtype() && tensor->device() == x.device()
                              : with_number(x.dtype(), other.number().kind()) == x.dtype()) &&
                      !formula.mask_output;
  if (direct) {
    Tensor y = tensor ? *tensor : number_operand(formula, other.number(), 1, x.dtype());
    const bool same = same_places(x, y) && !is_batched(x) && !is_batched(y);
    if (tensor && !same && may_overlap(x, y)) y = clone(y);
    const Tensor* const operands[] = {&x, &y};
    launch_elementwise(formula, -1, operands, x, x.dtype());
  } else {
    const Tensor result = call_elementwise(formula, x, other);
    check_kind(x, result.dtype(), op);
    write_values(x, result, op);
  }
  finish_out(std::span(&tensor, tensor ? 1 : 0), x, op);
  return x;
}

Tensor AddInPlace::call(const Tensor& x, const Operand& other) {
  return update_in_place(elementwise_op<Add>(), x, other, "add_");
}
Tensor SubtractInPlace::call(const Tensor& x, const Operand& other) {
  return update_in_place(elementwise_op<Subtract>(), x, other, "sub_");
}
Tensor MultiplyInPlace::call(const Tensor& x, const Operand& other) {
  return update_in_place(elementwise_op<Multiply>(), x, other, "mul_");
}
Tensor DivideInPlace::call(const Tensor& x, const Operand& other) {
  return update_in_place(elementwise_op<Divide>(), x, other, "div_");
}

Tensor CopyInPlace::call(const Tensor& x, const Operand& source) {
  constexpr const char* kOp = "copy_";
  check_defined(x, kOp);
  if (source.is_number()) return fill_(x, source.number());
  const Tensor& from = source.tensor();
  check_defined(from, kOp);
  check_writable(x, kOp);
  check_shape(x, from.shape(), kOp);
  check_room(x, from, kOp);
  if (from.same(x)) return x;
  if (autograd::records_in_place(kOp, x, from)) {
    Tensor result = broadcast_to(to_device(cast(from, x.dtype()), x.device()), x.shape());
    if (may_overlap(x, result)) result = clone(result);
    write_values(x, result, kOp);
    mark_written(x, kOp);
    // x needs a node of its own, so that hooks on x do not see what hooks on `from` see.
    autograd::take_place(x, result.same(from) ? AssignFn::apply(result) : result);
    return x;
  }
  const autograd::NoGrad no_grad;
  const Tensor values = broadcast_to(from, x.shape());
  write_values(x, may_overlap(x, values) ? clone(values) : values, kOp);
  const Tensor* const inputs[] = {&from};
  finish_out(inputs, x, kOp);
  return x;
}

Tensor FillInPlace::call(const Tensor& x, Scalar value) { return fill(x, value, "fill_"); }

Tensor ZeroInPlace::call(const Tensor& x) { return fill(x, 0, "zero_"); }

Tensor MaskedFillInPlace::call(const Tensor& x, const Tensor& mask, const Operand& value) {
  constexpr const char* kOp = "masked_fill_";
  check_defined(x, kOp);
  check_defined(mask, kOp);
  check_writable(x, kOp);
  if (mask.dtype() != DType::Bool) fail<TypeError>("[", kOp, "] mask must be bool, got ", mask.dtype());
  check_shape(x, mask.shape(), kOp);
  const Tensor* tensor = value.is_number() ? nullptr : &value.tensor();
  if (tensor) {
    check_defined(*tensor, kOp);
    if (tensor->ndim() != 0) {
      fail<ValueError>("[", kOp, "] value must be a number or a 0-d tensor, got shape ", tensor->shape(),
                       "; use where() to choose element by element");
    }
  }
  const bool recorded = autograd::records_in_place(kOp, x, tensor ? *tensor : Tensor());
  const autograd::GradMode mode(recorded && autograd::is_grad_enabled());
  const Tensor result = where(mask, value, x);
  check_kind(x, result.dtype(), kOp);
  if (recorded) {
    assign_recorded(x, result, kOp);
  } else {
    write_values(x, result, kOp);
    finish_out(std::span(&tensor, tensor ? 1 : 0), x, kOp);
  }
  return x;
}

}  // namespace lamella
