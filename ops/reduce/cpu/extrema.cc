#include <limits>

#include "ops/reduce/cpu/loops.h"

namespace lamella::cpu {
namespace {

template <class T, bool kMax>
struct ExtremeOp {
  using Acc = cpp_type<reduce_result(Reduction::Max, dtype_of<T>)>;
  using Limits = std::numeric_limits<Acc>;
  static constexpr bool kRepeats = true;
  static Acc identity() {
    if constexpr (Limits::has_infinity) {
      return kMax ? -Limits::infinity() : Limits::infinity();
    } else {
      return kMax ? Limits::lowest() : Limits::max();
    }
  }
  static Acc lift(T x) { return static_cast<Acc>(x); }
  /// Returns NaN if a or b is NaN.
  static Acc combine(Acc a, Acc b) {
    // Two selections, neither of which needs a branch.
    const Acc extreme = (kMax ? a > b : a < b) ? a : b;
    return a != a ? a : extreme;
  }
  static Vec<Acc> combine(Vec<Acc> a, Vec<Acc> b) {
    if constexpr (std::is_floating_point_v<Acc>) {
      return where(isnan(a), a, Vec<Acc>(simd::native_math::extreme<kMax>(a.native(), b.native())));
    } else {
      // The compiler turns this selection into one instruction on its native vector types.
      const auto x = a.native();
      const auto y = b.native();
      return Vec<Acc>(kMax ? (x > y ? x : y) : (x < y ? x : y));
    }
  }
};
template <class T>
using MaxOp = ExtremeOp<T, true>;
template <class T>
using MinOp = ExtremeOp<T, false>;

}  // namespace

void fill_reduce_extrema(ReduceKernels& kernels) {
  const auto fill = [&]<class... T>() {
    set_reductions<MaxOp, T...>(kernels, Reduction::Max);
    set_reductions<MinOp, T...>(kernels, Reduction::Min);
  };
  fill.operator()<std::int8_t, std::int16_t, std::int32_t, std::int64_t>();
  fill.operator()<std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>();
  fill.operator()<Half, BFloat16, float, double>();
}

}  // namespace lamella::cpu
