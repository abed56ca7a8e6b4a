#pragma once

#include <optional>

#include "ops/elementwise/bitwise.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/extrema.h"
#include "ops/elementwise/where.h"

namespace lamella {

/// The kernel behind `clip` with both bounds.
struct ClipBetween : Ternary<ClipBetween> {
  static constexpr bool kShortFormula = true;
  static constexpr OpInfo info{.name = "clip_between",
                               .doc = "min(max(x, low), high). The gradient passes where low <= x <= high.",
                               .parameters = "x, low, high, /",
                               .example = "clip_between(full([2], 5.0), 0.0, 1.0)",
                               .reference = "np.minimum(np.maximum(x, low), high)",
                               .dtypes = Real,
                               .method = false,
                               .settings = {{1, -1.05}, {2, 1.15}}};
  template <class X>
  LM_HD static constexpr X forward(const X& x, const X& low, const X& high) {
    return minimum(maximum(x, low), high);
  }
  template <class X>
  LM_HD static constexpr X backward(Wrt<0>, const X& x, const X& low, const X& high, const X&, const X& dy) {
    return where((x >= low) & (x <= high), dy, 0);
  }
  template <class X>
  LM_HD static constexpr X backward(Wrt<1>, const X& x, const X& low, const X& high, const X&, const X& dy) {
    return where((x < low) & (low < high), dy, 0);
  }
  template <class X>
  LM_HD static constexpr X backward(Wrt<2>, const X& x, const X& low, const X& high, const X&, const X& dy) {
    return where((x > high) | ((low > high) & (x <= high)), dy, 0);
  }
};

struct Clip {
  static constexpr OpInfo info{
      .name = "clip",
      .doc =
          "x limited to [min, max]; a bound of None does not limit. The gradient passes where x is within the bounds.",
      .parameters = "x, /, min=None, max=None",
      .example = "clip(full([2], 5.0), 0.0, 1.0)",
      .dtypes = Real,
      .out = true,
      .in_place = true};
  static Tensor call(const Tensor& x, const std::optional<Operand>& min, const std::optional<Operand>& max);
  /// Clips x itself, off the tape.
  static void into(const Tensor& x, const std::optional<Operand>& min, const std::optional<Operand>& max);
};

inline Tensor clip(const Tensor& x, const std::optional<Operand>& min, const std::optional<Operand>& max) {
  return Clip::call(x, min, max);
}

}  // namespace lamella
