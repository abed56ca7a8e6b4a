#include "ops/elementwise/results.h"

#include <algorithm>
#include <array>

#include "engine/autograd/backward/lent.h"
#include "engine/autograd/recording/recorder.h"
#include "ops/elementwise/launch.h"
#include "ops/elementwise/numbers.h"
#include "ops/movement/cast.h"
#include "ops/support/along.h"
#include "ops/support/checks.h"
#include "ops/support/hidden.h"
#include "ops/support/strided.h"

namespace lamella {
namespace {

/// Rank of the dtype's kind: bool, integer, floating, complex. A result of a higher rank cannot be written into a
/// tensor.
int kind_of(DType dtype) { return dtype == DType::Bool ? 0 : is_integral(dtype) ? 1 : is_floating(dtype) ? 2 : 3; }

void check_fits(const Tensor& to, const Tensor& result, const char* op) {
  check_same_device(result, to, op);
  if (result.shape() != to.shape()) {
    fail<ValueError>("[", op, "] a result of shape ", result.shape(), " cannot be written into a tensor of shape ",
                     to.shape());
  }
  check_kind(to, result.dtype(), op);
}

void write_result(const Tensor& to, const Tensor& result, const char* op) {
  check_fits(to, result, op);
  check_room(to, result, op);
  if (!result.same(to)) write_values(to, may_overlap(to, result) ? clone(result) : result, op);
}

}  // namespace

void check_writable(const Tensor& x, const char* op) {
  if (x->storage->has_mark(Storage::kReadOnly | Storage::kLent)) [[unlikely]] {
    if (x->storage->has_mark(Storage::kReadOnly)) fail<RuntimeError>("[", op, "] the tensor's memory is read-only");
    autograd::end_loan(*x->storage);
  }
  if ((x->flags & TensorImpl::kInference) && !autograd::is_inference_mode_enabled()) {
    fail<RuntimeError>("[", op,
                       "] a tensor made in inference_mode cannot be changed in place outside it; work on a copy made "
                       "outside (clone())");
  }
  if (has_repeated_elements(x)) {
    const bool broadcast = x->hidden || std::ranges::find(x.strides(), 0) != x.strides().end();
    fail<RuntimeError>("[", op, "] cannot write into a ",
                       broadcast ? "broadcast tensor" : "tensor with windows that overlap",
                       ", whose elements share memory; work on a copy (clone())");
  }
}

void check_kind(const Tensor& to, DType result, const char* op) {
  if (kind_of(result) > kind_of(to.dtype())) {
    fail<TypeError>("[", op, "] a result of dtype ", result, " cannot be written into a tensor of dtype ", to.dtype());
  }
}

void assign_recorded(const Tensor& x, const Tensor& result, const char* op) {
  const Tensor kept = cast(result, x.dtype());
  write_values(x, kept, op);
  mark_written(x, op);
  autograd::take_place(x, kept);
}

bool same_places(const Tensor& a, const Tensor& b) {
  return a->data == b->data && a.shape() == b.shape() && a.strides() == b.strides() && a.dtype() == b.dtype();
}

void check_out(std::span<const Tensor* const> inputs, const Tensor& out, const char* op) {
  check_defined(out, op);
  check_writable(out, op);
  const auto refuse = [&](const char* what) {
    fail<RuntimeError>("[", op, "] out= is not recorded, and ", what,
                       " requires a gradient: leave out `out=`, or compute under no_grad()");
  };
  if (autograd::records_in_place(op, out, Tensor())) refuse("it");
  for (const Tensor* x : inputs) {
    if (x->defined() && autograd::records_in_place(op, out, *x)) refuse("an input");
  }
}

void write_out(const Tensor& out, const Tensor& result, const char* op) {
  const autograd::NoGrad off;
  write_result(out, result, op);
}

bool launch_into(const ElementwiseOp& op, std::span<const Operand* const> operands, const Tensor& to) {
  if (op.mask_input || autograd::modes().interceptors || is_batched(to)) return false;
  Dims shape;
  std::optional<DType> dtype;
  for (const Operand* operand : operands) {
    if (operand->is_number()) continue;
    const Tensor& x = operand->tensor();
    if (!x.defined() || is_batched(x) || x.device() != to.device() || (dtype && x.dtype() != *dtype)) return false;
    if (!same_places(x, to) && may_overlap(x, to)) return false;
    dtype = x.dtype();
    shape = broadcast_shapes(shape, x.shape(), op.info->name);
  }
  // The result has the tensors' dtype only if neither the numbers nor the operator change it.
  if (!dtype || shape != to.shape() || !op.info->dtypes.contains(*dtype) || is_complex(*dtype)) return false;
  if (to.dtype() != (op.mask_output ? DType::Bool : *dtype)) return false;
  std::array<Tensor, ElementwiseOp::kMaxInputs> numbers;
  std::array<const Tensor*, ElementwiseOp::kMaxInputs> inputs;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i]->is_number()) {
      inputs[i] = &operands[i]->tensor();
      continue;
    }
    const Scalar number = operands[i]->number();
    const Scalar::Kind kind = number.kind();
    const bool keeps = kind == Scalar::Kind::Bool || (kind == Scalar::Kind::Int && *dtype != DType::Bool) ||
                       (kind == Scalar::Kind::Float && is_floating(*dtype));
    if (!keeps) return false;
    if (op.mask_output && compares_beyond(op, operands, *dtype)) return false;
    numbers[i] = number_operand(op, number, i, *dtype);
    inputs[i] = &numbers[i];
  }
  launch_elementwise(op, -1, std::span(inputs.data(), operands.size()), to, *dtype);
  return true;
}

InPlaceCall::InPlaceCall(const char* op, const Tensor& x, std::span<const Tensor* const> others)
    : op_(op), x_(x), others_(others) {
  check_defined(x, op);
  check_writable(x, op);
  recorded_ = autograd::records_in_place(op, x, Tensor());
  for (const Tensor* other : others_) {
    check_defined(*other, op);
    recorded_ |= autograd::records_in_place(op, x, *other);
  }
  // Copies x if it is recorded: gradients must not read the memory that is overwritten.
  before_ = recorded_ ? clone(x) : x;
}

void InPlaceCall::finish(const Tensor& result) {
  if (!recorded_) {
    write_result(x_, result, op_);
    finish_written();
    return;
  }
  check_fits(x_, result, op_);
  assign_recorded(x_, result, op_);
}

void InPlaceCall::finish_written() { finish_out(others_, x_, op_); }

}  // namespace lamella
