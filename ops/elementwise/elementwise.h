#pragma once

#include <array>

#include "engine/core/tensor.h"
#include "ops/op_info.h"
#include "ops/operand.h"
#include "ops/simd/hd.h"

namespace lamella {

// Note [Complex gradients]
// The gradient of a complex input is, as in PyTorch, the derivative of the real result with respect to the input's real
// part plus i times that with respect to its imaginary part. For a holomorphic function that is dy * conj(f'(x)). The
// formulas say dy * f'(x), which is linear in dy, and what calls them for complex operands conjugates the incoming and
// the outgoing gradient: conj(conj(dy) * f'(x)). Formulas that read dy alone have real coefficients, and need none of
// it. An operator with complex operands that is not holomorphic says so (kHolomorphic), and its formula is the gradient
// itself. In forward mode the tangent is f'(x) * dx, so the conjugations are undone; for a real result it is the real
// part of conj(gradient of 1) * dx.

/// Tells a gradient formula which operand it is for.
template <int I>
struct Wrt {};

/// What is known at run time of one elementwise operator; made from its struct at compile time.
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
  /// Complex inputs give a real output.
  bool real_output;
  /// See Note [Complex gradients].
  bool holomorphic;
  bool takes_long;
  bool short_formula;
  /// For each input, which operands its gradient formula reads, as bits; 0 where there is no gradient.
  std::array<unsigned, kMaxInputs> reads;
  /// For each input, its gradient formula on tensors; null where there is none.
  std::array<Formula, kMaxInputs> formulas;

  bool differentiable() const { return reads[0] | reads[1] | reads[2] | reads[3]; }
};

/// The description of Op, which must be in ElementwiseOps.
template <class Op>
const ElementwiseOp& elementwise_op();

/// Promotes and broadcasts the operands, computes, and records the call where a gradient is wanted.
Tensor call_elementwise(const ElementwiseOp& op, const Operand& a);
Tensor call_elementwise(const ElementwiseOp& op, const Operand& a, const Operand& b);
Tensor call_elementwise(const ElementwiseOp& op, const Operand& a, const Operand& b, const Operand& c);
Tensor call_elementwise(const ElementwiseOp& op, const Operand& a, const Operand& b, const Operand& c,
                        const Operand& d);

/// What an operator's struct may say otherwise.
struct ElementwiseDefaults {
  /// Operand 0 is bool, and chooses.
  static constexpr bool kMaskInput = false;
  /// See Note [Complex gradients].
  static constexpr bool kHolomorphic = true;
  /// What a wider dtype computes, rounded, is the result; see Note [Narrow dtypes].
  static constexpr bool kInWiderDType = true;
  /// Half as many elements are worth a second thread, and a quarter of wide ones.
  static constexpr bool kTakesLong = false;
  /// Next to nothing is computed; see Note [Short formulas].
  static constexpr bool kShortFormula = false;
};

/// An elementwise operator of one tensor: `forward(x)` and, where it is differentiable, `backward(x, y, dy)`.
///
/// Formulas are templates over the operand type: a vector register in a CPU loop, a lane of a CUDA thread, a Tensor in
/// a second derivative. What backward does not name is not saved.
template <class Op>
struct Unary : ElementwiseDefaults {
  static constexpr int kInputs = 1;
  static constexpr const char* kParameters = "x, /";
  static Tensor call(const Tensor& x) { return call_elementwise(elementwise_op<Op>(), x); }
};

/// Of two tensors or numbers: `forward(a, b)`, `backward(Wrt<0>, a, b, y, dy)` and `backward(Wrt<1>, ...)`.
template <class Op>
struct Binary : ElementwiseDefaults {
  static constexpr int kInputs = 2;
  static constexpr const char* kParameters = "a, b, /";
  static Tensor call(const Operand& a, const Operand& b) { return call_elementwise(elementwise_op<Op>(), a, b); }
};

/// Of three tensors or numbers.
template <class Op>
struct Ternary : ElementwiseDefaults {
  static constexpr int kInputs = 3;
  static constexpr const char* kParameters = "a, b, c, /";
  static Tensor call(const Operand& a, const Operand& b, const Operand& c) {
    return call_elementwise(elementwise_op<Op>(), a, b, c);
  }
};

/// Of four tensors or numbers.
template <class Op>
struct Quaternary : ElementwiseDefaults {
  static constexpr int kInputs = 4;
  static constexpr const char* kParameters = "a, b, c, d, /";
  static Tensor call(const Operand& a, const Operand& b, const Operand& c, const Operand& d) {
    return call_elementwise(elementwise_op<Op>(), a, b, c, d);
  }
};

}  // namespace lamella
