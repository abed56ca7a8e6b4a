#include <bit>
#include <limits>
#include <type_traits>

#include "ops/reduce/cpu/loops.h"

namespace lamella::cpu {
namespace {

/// Integers of the size of a T, which hold its bits.
template <class T>
using Bits = std::conditional_t<
    sizeof(T) == 1, std::int8_t,
    std::conditional_t<sizeof(T) == 2, std::int16_t, std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>>>;

/// The largest element after some bits of each are flipped, which `state` has. So one kernel also finds the largest
/// unsigned integer, whose order is that of signed ones with the highest bit flipped, and the smallest element:
/// flipping all bits of an integer, or the sign of a floating-point number, reverses the order.
template <class T>
struct ExtremeOp {
  using Acc = cpp_type<reduce_result(Reduction::Max, dtype_of<T>)>;
  using Limits = std::numeric_limits<Acc>;
  static constexpr bool kRepeats = true;

  Bits<Acc> state = 0;

  static Acc identity() {
    if constexpr (Limits::has_infinity) {
      return -Limits::infinity();
    } else {
      return Limits::lowest();
    }
  }
  Acc lift(T x) const { return flipped(static_cast<Acc>(x)); }
  Acc flipped(Acc x) const { return std::bit_cast<Acc>(static_cast<Bits<Acc>>(std::bit_cast<Bits<Acc>>(x) ^ state)); }
  Vec<Acc> lift(Vec<Acc> x) const {
    using Integers = simd::Native<Bits<Acc>>;
    return Vec<Acc>(reinterpret_cast<simd::Native<Acc>>(reinterpret_cast<Integers>(x.native()) ^ state));
  }
  /// Returns NaN if a or b is NaN.
  static Acc combine(Acc a, Acc b) {
    // Two selections, neither of which needs a branch.
    const Acc extreme = a > b ? a : b;
    return a != a ? a : extreme;
  }
  static Vec<Acc> combine(Vec<Acc> a, Vec<Acc> b) {
    if constexpr (std::is_floating_point_v<Acc>) {
      return where(isnan(a), a, Vec<Acc>(simd::native_math::extreme<true>(a.native(), b.native())));
    } else {
      // The compiler turns this selection into one instruction on its native vector types.
      const auto x = a.native();
      const auto y = b.native();
      return Vec<Acc>(x > y ? x : y);
    }
  }
};

/// The type that elements T are compared in.
template <class T>
using Compared = typename std::conditional_t<std::is_integral_v<T>, std::make_signed<T>, std::type_identity<T>>::type;

template <class T, bool kMax>
constexpr ExtremeOp<Compared<T>> extreme_op() {
  using B = decltype(ExtremeOp<Compared<T>>::state);
  constexpr B kSign = std::numeric_limits<B>::min();
  if constexpr (!std::is_integral_v<T>) return {.state = kMax ? B{0} : kSign};
  constexpr B kOrder = std::is_unsigned_v<T> ? kSign : B{0};
  return {.state = static_cast<B>(kMax ? kOrder : ~kOrder)};
}

/// Calls reduce(op, elements, results) for the extremum, and undoes what the op flipped in its `count` results.
template <class T, bool kMax, class F>
void find_extrema(const void* x, void* out, std::int64_t count, F&& reduce) {
  const auto op = extreme_op<T, kMax>();
  auto* const results = static_cast<typename decltype(op)::Acc*>(out);
  reduce(op, static_cast<const Compared<T>*>(x), results);
  if (op.state != 0)
    std::transform(results, results + count, results, [&op](auto result) { return op.flipped(result); });
}
template <class T, bool kMax>
void extreme_rows(const void* x, std::int64_t step, std::int64_t n, std::int64_t rows, std::int64_t row_step,
                  void* out) {
  find_extrema<T, kMax>(x, out, rows, [&](const auto& op, const auto* elements, auto* results) {
    reduce_rows_by(op, elements, step, n, rows, row_step, results);
  });
}
template <class T, bool kMax>
void extreme_columns(const void* x, std::int64_t step, std::int64_t n, std::int64_t columns, void* out) {
  find_extrema<T, kMax>(x, out, columns, [&](const auto& op, const auto* elements, auto* results) {
    reduce_columns_by(op, elements, step, n, columns, results);
  });
}

}  // namespace

void fill_reduce_extrema(ReduceKernels& kernels) {
  const auto fill = [&]<class T, bool kMax>() {
    const auto row = static_cast<std::size_t>(kMax ? Reduction::Max : Reduction::Min);
    kernels.rows[row][static_cast<std::size_t>(dtype_of<T>)] = extreme_rows<T, kMax>;
    kernels.columns[row][static_cast<std::size_t>(dtype_of<T>)] = extreme_columns<T, kMax>;
  };
  const auto both = [&]<class... T>() {
    ((fill.template operator()<T, true>(), fill.template operator()<T, false>()), ...);
  };
  both.operator()<std::int8_t, std::int16_t, std::int32_t, std::int64_t>();
  both.operator()<std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>();
  both.operator()<Half, BFloat16, float, double>();
}

}  // namespace lamella::cpu
