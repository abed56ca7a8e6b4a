#pragma once

#include <span>

#include "engine/core/tensor.h"
#include "ops/elementwise/elementwise.h"
#include "ops/support/along.h"

// Writing results into existing tensors: the common part of `out=` and of the in-place forms of operators (`relu_`).
// The bindings generate both from an operator's `call`.

namespace lamella {

/// Throws RuntimeError if x must not be written to: its memory is read-only, its elements share memory, or it is an
/// inference tensor outside of inference mode.
void check_writable(const Tensor& x, const char* op);
/// Throws TypeError if a result of the given dtype is of a higher kind than `to` (bool, integer, floating, complex).
void check_kind(const Tensor& to, DType result, const char* op);
/// Writes the recorded result of an in-place call into x, cast, and puts x in its place on the tape.
void assign_recorded(const Tensor& x, const Tensor& result, const char* op);
/// True if both tensors are the same elements.
bool same_places(const Tensor& a, const Tensor& b);

/// Checks `out` before a call whose result is written there. Throws RuntimeError if `out` cannot be written to, or if a
/// gradient would be lost: gradients are recorded, and an input or `out` requires one.
void check_out(std::span<const Tensor* const> inputs, const Tensor& out, const char* op);
/// Writes the result into `out`. Throws ValueError if the shapes differ, TypeError if the result's dtype is of a higher
/// kind.
void write_out(const Tensor& out, const Tensor& result, const char* op);
/// Marks `out` as written and notes what it derives from; called after it holds the result.
inline void finish_out(std::span<const Tensor* const> inputs, const Tensor& out, const char* op) {
  mark_written(out, op);
  note_unrecorded(op, inputs, out);
}

/// Computes the operator directly into `to`, off the tape. Returns false if that is impossible (different dtypes,
/// shapes or devices, or operands that overlap with `to`); the caller then computes a result and copies it.
bool launch_into(const ElementwiseOp& op, std::span<const Operand* const> operands, const Tensor& to);

/// A call of an operator whose result replaces its first argument.
class InPlaceCall {
 public:
  /// Throws RuntimeError if x cannot be written to. `others` are the other tensor arguments.
  InPlaceCall(const char* op, const Tensor& x, std::span<const Tensor* const> others);

  /// True if the change is recorded on the tape; before() is then a copy that the operator may keep.
  bool recorded() const noexcept { return recorded_; }
  /// Returns the tensor that the operator reads in place of x.
  const Tensor& before() const noexcept { return before_; }
  /// Assigns the result to x; throws ValueError if the shapes differ, TypeError if its dtype is of a higher kind.
  void finish(const Tensor& result);
  /// Finishes the call of an operator that has written to x itself.
  void finish_written();

 private:
  const char* op_;
  const Tensor& x_;
  std::span<const Tensor* const> others_;
  bool recorded_ = false;
  Tensor before_;
};

}  // namespace lamella
