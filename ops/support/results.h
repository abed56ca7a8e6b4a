#pragma once

#include <span>

#include "engine/core/tensor.h"
#include "ops/elementwise/elementwise.h"

// Results that go into tensors that are there already: what `out=` and the in-place forms of operators (`relu_`) have
// in common. The bindings make both from an operator's `call`.

namespace lamella {

/// Checks `out` before a call whose result goes there. RuntimeError where a gradient would be lost (one of the inputs,
/// or `out`, wants one while gradients are recorded) or it cannot be written to.
void check_out(std::span<const Tensor* const> inputs, const Tensor& out, const char* op);
/// Writes the result into `out`. ValueError where its shape is another, TypeError where its dtype is of a higher kind.
void write_out(const Tensor& out, const Tensor& result, const char* op);
/// What follows once `out` holds the result.
void finish_out(std::span<const Tensor* const> inputs, const Tensor& out, const char* op);

/// Computes the operator straight into `to`, off the tape. False where that cannot be (other dtypes, shapes or devices,
/// operands that overlap with `to`): the caller then computes a result and copies it.
bool launch_into(const ElementwiseOp& op, std::span<const Operand* const> operands, const Tensor& to);

/// A call of an operator whose result takes the place of its first argument.
class InPlaceCall {
 public:
  /// RuntimeError where x cannot be written to, as for every in-place operator. `others` are the call's other tensors.
  InPlaceCall(const char* op, const Tensor& x, std::span<const Tensor* const> others);

  /// Whether the change goes on the tape: x then stands for a copy that the operator may keep.
  bool recorded() const noexcept { return recorded_; }
  /// What the operator is to read in x's place.
  const Tensor& before() const noexcept { return before_; }
  /// Gives x the result; ValueError for another shape, TypeError for a dtype of a higher kind.
  void finish(const Tensor& result);
  /// The same where x was written to by the operator.
  void finish_written();

 private:
  const char* op_;
  const Tensor& x_;
  std::span<const Tensor* const> others_;
  bool recorded_ = false;
  Tensor before_;
};

}  // namespace lamella
