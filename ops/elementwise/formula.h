#pragma once

#include <bit>
#include <type_traits>
#include <utility>

#include "ops/elementwise/elementwise.h"
#include "ops/simd/complex.h"
#include "ops/simd/probe.h"

// Compile-time queries and calls of an operator's formulas, shared by kernels and descriptions.

namespace lamella {

/// Calls Op::forward with `operand.template at<I>()` for each input.
template <class Op, class Source>
LM_HD constexpr auto apply_forward(const Source& operand) {
  if constexpr (Op::kInputs == 1) {
    return Op::forward(operand.template at<0>());
  } else if constexpr (Op::kInputs == 2) {
    return Op::forward(operand.template at<0>(), operand.template at<1>());
  } else if constexpr (Op::kInputs == 3) {
    return Op::forward(operand.template at<0>(), operand.template at<1>(), operand.template at<2>());
  } else {
    return Op::forward(operand.template at<0>(), operand.template at<1>(), operand.template at<2>(),
                       operand.template at<3>());
  }
}

/// Calls the gradient formula of input I with the inputs, the output and its gradient.
template <class Op, int I, class Source>
LM_HD constexpr auto apply_formula(const Source& operand) {
  if constexpr (Op::kInputs == 1) {
    return Op::backward(operand.template at<0>(), operand.template at<1>(), operand.template at<2>());
  } else if constexpr (Op::kInputs == 2) {
    return Op::backward(Wrt<I>{}, operand.template at<0>(), operand.template at<1>(), operand.template at<2>(),
                        operand.template at<3>());
  } else if constexpr (Op::kInputs == 3) {
    return Op::backward(Wrt<I>{}, operand.template at<0>(), operand.template at<1>(), operand.template at<2>(),
                        operand.template at<3>(), operand.template at<4>());
  } else {
    return Op::backward(Wrt<I>{}, operand.template at<0>(), operand.template at<1>(), operand.template at<2>(),
                        operand.template at<3>(), operand.template at<4>(), operand.template at<5>());
  }
}

namespace detail {

struct ProbeSource {
  template <int I>
  LM_HD constexpr simd::Probe at() const {
    return simd::Probe{1u << I};
  }
};

}  // namespace detail

/// True if Op has a gradient for input I.
template <class Op, int I>
inline constexpr bool kHasBackward = [] {
  if constexpr (I >= Op::kInputs) {
    return false;
  } else if constexpr (Op::kInputs == 1) {
    return requires(simd::Probe p) { Op::backward(p, p, p); };
  } else if constexpr (Op::kInputs == 2) {
    return requires(simd::Probe p) { Op::backward(Wrt<I>{}, p, p, p, p); };
  } else if constexpr (Op::kInputs == 3) {
    return requires(simd::Probe p) { Op::backward(Wrt<I>{}, p, p, p, p, p); };
  } else {
    return requires(simd::Probe p) { Op::backward(Wrt<I>{}, p, p, p, p, p, p); };
  }
}();

/// Bit mask of the operands that the gradient formula of input I reads, found by running it on probes.
template <class Op, int I>
inline constexpr unsigned kReads = [] {
  if constexpr (kHasBackward<Op, I>) {
    return apply_formula<Op, I>(detail::ProbeSource{}).bits;
  } else {
    return 0u;
  }
}();

/// True if the gradient formula of input I reads the incoming gradient alone. It is then run on tensors, as one
/// operation or none.
template <class Op, int I>
inline constexpr bool kReadsGradientAlone = kReads<Op, I> == 1u << (Op::kInputs + 1);

/// True if the gradient formula of input I must be conjugated for complex operands; see Note [Complex gradients].
template <class Op, int I>
inline constexpr bool kConjugates =
    Op::kHolomorphic && !kReadsGradientAlone<Op, I> && !(Op::info.dtypes & Complex).empty();

/// A source of operands that conjugates the incoming gradient, operand kLast.
template <class Source, int kLast>
struct ConjugatedSource {
  const Source& source;
  template <int I>
  LM_HD constexpr decltype(auto) at() const {
    if constexpr (I == kLast) {
      return conj(source.template at<I>());
    } else {
      return source.template at<I>();
    }
  }
};

/// Computes the gradient of input I from a kernel's operands.
template <class Op, int I, class Source>
LM_HD constexpr auto apply_backward(const Source& operand) {
  using X = std::remove_cvref_t<decltype(operand.template at<I>())>;
  if constexpr (simd::kIsComplexOperand<X> && kConjugates<Op, I>) {
    return conj(apply_formula<Op, I>(ConjugatedSource<Source, Op::kInputs + 1>{operand}));
  } else {
    return apply_formula<Op, I>(operand);
  }
}

namespace detail {

template <class X, bool kMaskInput>
struct TypeSource {
  template <int I>
  std::conditional_t<kMaskInput && I == 0, typename X::mask_type, X> at() const;
};

}  // namespace detail

/// The result type of Op::forward for operands of type X.
template <class Op, class X>
using ForwardResult = decltype(apply_forward<Op>(std::declval<detail::TypeSource<X, Op::kMaskInput>>()));

/// Bit mask of the operands of kernel `W`: all inputs for the forward kernel (-1), the operands that the formula reads
/// for the gradient of input W.
template <class Op, int W>
inline constexpr unsigned kKernelOperands = W < 0 ? (1u << Op::kInputs) - 1 : kReads < Op,
                          W<0 ? 0 : W>;

/// Returns the position of operand I among those in `mask`.
constexpr int operand_slot(unsigned mask, int i) { return std::popcount(mask & ((1u << i) - 1)); }
/// Returns the operand at a position among those in `mask`, the inverse of operand_slot().
constexpr int operand_at(unsigned mask, int slot) {
  for (; slot > 0; --slot) mask &= mask - 1;
  return std::countr_zero(mask);
}

}  // namespace lamella
