#pragma once

#include <cstdint>

#include "ops/cpu/tables/ctc.h"
#include "ops/simd/hd.h"

// The formulas of ctc_loss for a state of a sequence, or for a vector of neighboring states.

namespace lamella::ctc {

// larger() and smaller() return the other operand if one is NaN; they are ordered so that no NaN is lost.

/// Returns log(exp(a) + exp(b)) for finite numbers.
template <class V>
LM_HD V log_sum(V a, V b) {
  const V top = larger(a, b);
  return top + log(1 + exp(smaller(b, a) - top));
}
template <class V>
LM_HD V log_sum(V a, V b, V c) {
  const V high = larger(a, b);
  const V top = larger(high, c);
  return top + log(1 + exp(smaller(b, a) - top) + exp(smaller(c, high) - top));
}

template <class T>
LM_HD T at_least_never(T log_p) {
  return log_p < T(cpu::kCtcNever) ? T(cpu::kCtcNever) : log_p;
}

/// True if a path may go to a label directly from the one before it: if the two differ.
LM_HD constexpr bool may_follow(std::int64_t label, std::int64_t before, std::int64_t blank) {
  return label != before && label != blank;
}

/// True for the loss of a target that does not fit into its steps.
template <class T>
LM_HD bool is_impossible(T loss) {
  return loss > T(cpu::kCtcImpossible);
}

}  // namespace lamella::ctc
