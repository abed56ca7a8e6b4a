#pragma once

#include <array>

#include "engine/core/tensor.h"
#include "ops/op_info.h"
#include "ops/operand.h"
#include "ops/simd/hd.h"

namespace lamella {

// Note [Complex gradients]
// The gradient of a complex input is, as in PyTorch, the derivative of the real result with
// respect to the input's real part plus i times that with respect to its imaginary part. For a holomorphic function
// that is dy * conj(f'(x)). Formulas are written as dy * f'(x), which is linear in dy; their callers conjugate the
// incoming and the outgoing gradient of complex operands: conj(conj(dy) * f'(x)). Formulas that read dy alone have real
// coefficients and need no conjugation. An operator with complex operands that is not holomorphic sets kHolomorphic to
// false, and its formula is the gradient itself. In forward mode the tangent is f'(x) * dx, so the conjugations are
// undone; for a real result it is the real part of conj(gradient of 1) * dx.

/// Selects the input that a gradient formula is for.
template <int I>
struct Wrt {};

/// The run-time description of an elementwise operator, generated from its struct at compile time.
///
/// Operands of a gradient formula are numbered: the inputs, then the output, then the output's gradient.
struct ElementwiseOp {
  static constexpr int kMaxInputs = 4;
  using Formula = Tensor (*)(const Tensor* operands);

  const OpInfo* info;
  int index;   ///< position in ElementwiseOps: the row of the kernel tables
  int inputs;  ///< 1 to kMaxInputs
  bool mask_output;
  bool mask_input;
  /// True if complex inputs give a real output.
  bool real_output;
  /// See Note [Complex gradients].
  bool holomorphic;
  bool takes_long;
  bool short_formula;
  /// For each input, the operands that its gradient formula reads, as a bit mask; 0 if there is no gradient.
  std::array<unsigned, kMaxInputs> reads;
  /// For each input, its gradient formula on tensors; null if there is none.
  std::array<Formula, kMaxInputs> formulas;

  bool differentiable() const { return reads[0] | reads[1] | reads[2] | reads[3]; }
};

/// Returns the description of Op, which must be in ElementwiseOps.
template <class Op>
const ElementwiseOp& elementwise_op();

/// Promotes and broadcasts the operands, computes, and records the call where a gradient is wanted.
Tensor call_elementwise(const ElementwiseOp& op, const Operand& a);
Tensor call_elementwise(const ElementwiseOp& op, const Operand& a, const Operand& b);
Tensor call_elementwise(const ElementwiseOp& op, const Operand& a, const Operand& b, const Operand& c);
Tensor call_elementwise(const ElementwiseOp& op, const Operand& a, const Operand& b, const Operand& c,
                        const Operand& d);

/// Defaults that an operator's struct may override.
struct ElementwiseDefaults {
  /// True if operand 0 is a bool mask.
  static constexpr bool kMaskInput = false;
  /// See Note [Complex gradients].
  static constexpr bool kHolomorphic = true;
  /// True if computing in a wider dtype and rounding gives the result; see Note [Narrow dtypes].
  static constexpr bool kInWiderDType = true;
  /// True if an element costs more than moving it: half as many elements justify a second thread, a quarter if they are
  /// of 8 bytes or more.
  static constexpr bool kTakesLong = false;
  /// True if an element costs next to nothing to compute; see Note [Short formulas].
  static constexpr bool kShortFormula = false;
};

/// An elementwise operator of one tensor: `forward(x)` and, if it is differentiable, `backward(x, y, dy)`.
///
/// Formulas are templates over the operand type: a vector register in a CPU loop, a lane of a CUDA thread, or a Tensor
/// in a second derivative. Operands that backward does not name are not saved.
template <class Op>
struct Unary : ElementwiseDefaults {
  static constexpr int kInputs = 1;
  static constexpr const char* kParameters = "x, /";
  static Tensor call(const Tensor& x) { return call_elementwise(elementwise_op<Op>(), x); }
};

/// An elementwise operator of two tensors or numbers: `forward(a, b)`, `backward(Wrt<0>, a, b, y, dy)` and
/// `backward(Wrt<1>, ...)`.
template <class Op>
struct Binary : ElementwiseDefaults {
  static constexpr int kInputs = 2;
  static constexpr const char* kParameters = "a, b, /";
  static Tensor call(const Operand& a, const Operand& b) { return call_elementwise(elementwise_op<Op>(), a, b); }
};

/// An elementwise operator of three tensors or numbers.
template <class Op>
struct Ternary : ElementwiseDefaults {
  static constexpr int kInputs = 3;
  static constexpr const char* kParameters = "a, b, c, /";
  static Tensor call(const Operand& a, const Operand& b, const Operand& c) {
    return call_elementwise(elementwise_op<Op>(), a, b, c);
  }
};

/// An elementwise operator of four tensors or numbers.
template <class Op>
struct Quaternary : ElementwiseDefaults {
  static constexpr int kInputs = 4;
  static constexpr const char* kParameters = "a, b, c, d, /";
  static Tensor call(const Operand& a, const Operand& b, const Operand& c, const Operand& d) {
    return call_elementwise(elementwise_op<Op>(), a, b, c, d);
  }
};

}  // namespace lamella
