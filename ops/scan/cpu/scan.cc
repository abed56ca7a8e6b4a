#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "ops/cpu/complex_product.h"
#include "ops/cpu/rows.h"
#include "ops/cpu/tables/scan.h"
#include "ops/scan/cpu/narrow.h"
#include "ops/scan/log_sum_exp.h"
#include "ops/simd/convert.h"
#include "ops/simd/vec.h"

namespace lamella::cpu {
namespace {

using simd::Native;
using simd::Vec;

/// The type of the carried value.
template <class T>
using Carry = std::conditional_t<kIsComplex<T>, std::complex<double>,
                                 std::conditional_t<std::is_floating_point_v<T> || kIsHalf<T>, double,
                                                    cpp_type<scan_result(Scan::Sum, dtype_of<T>)>>>;
template <class T>
using Result = cpp_type<scan_result(Scan::Sum, dtype_of<T>)>;

template <class T>
Carry<T> widened(T x) {
  if constexpr (kIsHalf<T>) {
    return static_cast<float>(x);
  } else {
    return static_cast<Carry<T>>(x);
  }
}
template <class T, class C>
Result<T> rounded(C carry) {
  if constexpr (kIsHalf<T>) {
    return T(static_cast<float>(carry));
  } else {
    return static_cast<Result<T>>(carry);
  }
}

struct SumScan {
  template <class C>
  static C first() {
    return C{0};
  }
  template <class C>
  static C next(C carry, C x) {
    return carry + x;
  }
};

struct ProdScan {
  template <class C>
  static C first() {
    return C{1};
  }
  template <class C>
  static C next(C carry, C x) {
    if constexpr (kIsComplex<C>) {
      return complex_product(carry, x);
    } else {
      return carry * x;
    }
  }
};

struct LogSumExpScan {
  template <class C>
  static C first() {
    return C{-std::numeric_limits<double>::infinity()};
  }
  template <class C>
  static C next(C carry, C x) {
    return log_add_exp(carry, x);
  }
};

/// Shifts the lanes of v up by kShift, filling with 0.
template <int kShift, class V, std::size_t... I>
V shifted_up(V v, std::index_sequence<I...>) {
  constexpr int kSize = sizeof...(I);
  return __builtin_shufflevector(v, V{}, (static_cast<int>(I) < kShift ? kSize : static_cast<int>(I) - kShift)...);
}

/// Repeats the last kParts lanes.
template <int kParts, class V, std::size_t... I>
V last_lanes(V v, std::index_sequence<I...>) {
  return __builtin_shufflevector(v, v, (static_cast<int>(sizeof...(I) - kParts + I % kParts))...);
}

/// Returns prefix sums over every kParts-th lane.
template <int kParts, int kShift = kParts>
Native<double> prefix_sums(Native<double> v) {
  constexpr int kSize = Vec<double>::size;
  if constexpr (kShift < kSize) {
    return prefix_sums<kParts, 2 * kShift>(v + shifted_up<kShift>(v, std::make_index_sequence<kSize>()));
  } else {
    return v;
  }
}

/// True if rows are summed a vector at a time.
template <class Op, class T>
inline constexpr bool kSumsVectors = std::is_same_v<Op, SumScan> && (std::is_floating_point_v<T> || kIsComplex<T>);

/// An element as its real numbers: one, or two adjacent parts.
template <class T>
struct Parts {
  using Part = T;
  static constexpr int kCount = 1;
};
template <class P>
struct Parts<std::complex<P>> {
  using Part = P;
  static constexpr int kCount = 2;
};

/// Conversion between kLanes numbers P in memory and doubles in a register, so that a complex number is added at once.
template <int kLanes, class P>
struct Lanes {
  using Wide [[gnu::vector_size(sizeof(double) * kLanes)]] = double;
  using Narrow [[gnu::vector_size(sizeof(P) * kLanes)]] = P;
  static Wide load(const P* from) {
    Narrow in;
    std::memcpy(&in, from, sizeof in);
    return __builtin_convertvector(in, Wide);
  }
  static void store(Wide sums, P* to) {
    const Narrow result = __builtin_convertvector(sums, Narrow);
    std::memcpy(to, &result, sizeof result);
  }
};

/// Sums a row one vector at a time, which shortens the chain of additions: the total of a vector is known before the
/// prefix sums within it.
template <class T>
void sum_row(const T* row, T* sums, std::int64_t n) {
  using Part = typename Parts<T>::Part;
  constexpr int kParts = Parts<T>::kCount;
  constexpr int kSize = Vec<double>::size;
  const auto* const x = reinterpret_cast<const Part*>(row);
  auto* const out = reinterpret_cast<Part*>(sums);
  const std::int64_t parts = n * kParts;
  Native<double> before{};
  std::int64_t i = 0;
  for (; i + kSize <= parts; i += kSize) {
    const Native<double> own = prefix_sums<kParts>(Lanes<kSize, Part>::load(x + i));
    Lanes<kSize, Part>::store(own + before, out + i);
    before += last_lanes<kParts>(own, std::make_index_sequence<kSize>());
  }
  if constexpr (kIsComplex<T>) {
    using Last = Lanes<kParts, Part>;
    typename Last::Wide carry = {before[0], before[1]};
    for (; i < parts; i += kParts) Last::store(carry += Last::load(x + i), out + i);
  } else {
    double carry = before[0];
    for (; i < n; ++i) out[i] = static_cast<T>(carry += x[i]);
  }
}

/// Scans n elements of kRows rows at once, because each result waits for the one before it; rows are `step` elements
/// apart.
template <int kRows, class Op, class T>
void carry_on(const T* x, Result<T>* out, std::int64_t step, std::int64_t n, bool reverse, Carry<T>* carries) {
  Carry<T> carry[kRows];
  for (int k = 0; k < kRows; ++k) carry[k] = carries[k];
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t at = reverse ? n - 1 - i : i;
    for (int k = 0; k < kRows; ++k) {
      carry[k] = Op::next(carry[k], widened(x[k * step + at]));
      out[k * step + at] = rounded<T>(carry[k]);
    }
  }
  for (int k = 0; k < kRows; ++k) carries[k] = carry[k];
}

template <int kRows, class Op, class T>
void scan_rows_at_once(const T* x, Result<T>* out, std::int64_t n, bool reverse) {
  Carry<T> carries[kRows];
  std::fill_n(carries, kRows, Op::template first<Carry<T>>());
  if constexpr (kIsHalf<T>) {
    // Converts in blocks, without branches.
    constexpr std::int64_t kBlock = 128;
    float block[kRows * kBlock];
    for (std::int64_t i = 0; i < n; i += kBlock) {
      const std::int64_t count = std::min(kBlock, n - i);
      const std::int64_t at = reverse ? n - i - count : i;
      for (int k = 0; k < kRows; ++k) convert_dense(block + k * kBlock, x + k * n + at, count);
      carry_on<kRows, Op>(block, block, kBlock, count, reverse, carries);
      for (int k = 0; k < kRows; ++k) convert_dense(out + k * n + at, block + k * kBlock, count);
    }
  } else {
    carry_on<kRows, Op>(x, out, n, n, reverse, carries);
  }
}

constexpr std::int64_t kBlock = 512;  // elements that are converted at once
/// Shorter rows are unrolled: a loop over them costs more to start than to run.
template <class T>
constexpr std::int64_t kShortestLoop = kIsComplex<T> ? 13 : 9;

/// Scans rows of kN elements.
template <class Op, int kN, class T>
void scan_rows_of(const T* x, T* out, std::int64_t rows, bool reverse) {
  const auto towards = [&]<bool kReverse>(std::bool_constant<kReverse>) {
    for (std::int64_t r = 0; r < rows; ++r, x += kN, out += kN) {
      if constexpr (kSumsVectors<Op, T> && kIsComplex<T>) {
        using Part = typename Parts<T>::Part;
        using Whole = Lanes<Parts<T>::kCount, Part>;
        typename Whole::Wide carry{};
        for (int i = 0; i < kN; ++i) {
          const int at = kReverse ? kN - 1 - i : i;
          carry += Whole::load(reinterpret_cast<const Part*>(x + at));
          Whole::store(carry, reinterpret_cast<Part*>(out + at));
        }
      } else {
        auto carry = Op::template first<Carry<T>>();
        for (int i = 0; i < kN; ++i) {
          const int at = kReverse ? kN - 1 - i : i;
          out[at] = rounded<T>(carry = Op::next(carry, widened(x[at])));
        }
      }
    }
  };
  reverse ? towards(std::true_type()) : towards(std::false_type());
}

template <class Op, class T>
void scan_shortest_rows(const T* x, T* out, std::int64_t n, std::int64_t rows, bool reverse) {
  [&]<int... I>(std::integer_sequence<int, I...>) {
    ((n == I + 1 ? scan_rows_of<Op, I + 1>(x, out, rows, reverse) : void()), ...);
  }(std::make_integer_sequence<int, kShortestLoop<T> - 1>());
}

template <class Op, class T>
void scan_rows(const T* x, Result<T>* out, std::int64_t n, std::int64_t rows, bool reverse) {
  constexpr std::int64_t kRows = 4;
  if constexpr (!std::is_same_v<Op, LogSumExpScan>) {
    if constexpr (kIsHalf<T>) {
      // Converts many short rows at once.
      float block[kBlock];
      float results[kBlock];
      const std::int64_t most = kBlock / n;
      if (most > kRows) {
        for (std::int64_t r = 0; r < rows; r += most) {
          const std::int64_t count = std::min(most, rows - r);
          convert_dense(block, x + r * n, count * n);
          scan_rows<Op>(block, results, n, count, reverse);
          convert_dense(out + r * n, results, count * n);
        }
        return;
      }
    } else if constexpr (std::is_floating_point_v<T> || kIsComplex<T>) {
      if (n < kShortestLoop<T>) return scan_shortest_rows<Op>(x, out, n, rows, reverse);
    }
  }
  std::int64_t r = 0;
  if constexpr (kSumsVectors<Op, T>) {
    for (; !reverse && r < rows; ++r) sum_row(x + r * n, out + r * n, n);
  }
  for (; r + kRows <= rows; r += kRows) scan_rows_at_once<kRows, Op>(x + r * n, out + r * n, n, reverse);
  for (; r < rows; ++r) scan_rows_at_once<1, Op>(x + r * n, out + r * n, n, reverse);
}

/// True if a few columns may be scanned several rows at once, which changes the order of operations. Sums and products
/// of float32 stay in the range of float64; products of several rows of float64 may not.
template <class Op, class T>
inline constexpr bool kInAnyOrder = std::is_same_v<Op, SumScan> || std::is_same_v<T, float>;

constexpr std::int64_t kColumns = 256;
constexpr std::int64_t kShortRow = 32;

/// Scans at most kColumns columns whose rows are `step` apart.
template <class Op, class T>
void scan_columns(const T* x, Result<T>* out, std::int64_t n, std::int64_t step, std::int64_t width, bool reverse,
                  Carry<T>* carries) {
  if constexpr (std::is_floating_point_v<T> && !std::is_same_v<Op, LogSumExpScan>) {
    if (step == width && width >= kNarrowest && width <= kWidestNarrow)
      return scan_narrow<Op, kInAnyOrder<Op, T>>(x, out, n, width, reverse, carries);
  }
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t at = (reverse ? n - 1 - i : i) * step;
    for (std::int64_t k = 0; k < width; ++k) carries[k] = Op::next(carries[k], widened(x[at + k]));
    for (std::int64_t k = 0; k < width; ++k) out[at + k] = rounded<T>(carries[k]);
  }
}

/// Calls f(first row, number of rows) for blocks of n rows, in the order of the scan.
template <class F>
void for_each_block(std::int64_t n, std::int64_t rows, bool reverse, F&& f) {
  for (std::int64_t i = 0; i < n; i += rows) {
    const std::int64_t count = std::min(rows, n - i);
    f(reverse ? n - i - count : i, count);
  }
}

/// Scans 16-bit floats, converted to blocks of float32: contiguous rows, or a single row.
template <class Op, class T>
void scan_half_columns(const T* x, T* out, std::int64_t n, std::int64_t step, std::int64_t width, bool reverse,
                       double* carries) {
  float block[kBlock];
  float results[kBlock];
  for_each_block(n, step == width ? kBlock / width : 1, reverse, [&](std::int64_t first, std::int64_t rows) {
    convert_dense(block, x + first * step, rows * width);
    scan_columns<Op>(block, results, rows, width, width, reverse, carries);
    convert_dense(out + first * step, results, rows * width);
  });
}

/// Scans a few adjacent columns of integers as unsigned ones, which wrap.
template <class Op, class T>
void scan_narrow_integers(const T* x, Result<T>* result, std::int64_t n, std::int64_t width, bool reverse) {
  using C = std::uint64_t;
  C* const out = reinterpret_cast<C*>(result);
  C carries[kWidestNarrow];
  std::fill_n(carries, kWidestNarrow, Op::template first<C>());
  if constexpr (sizeof(T) == sizeof(C)) {
    scan_narrow<Op, kInAnyOrder<Op, C>>(reinterpret_cast<const C*>(x), out, n, width, reverse, carries);
  } else {
    C block[kBlock];
    for_each_block(n, kBlock / width, reverse, [&](std::int64_t first, std::int64_t rows) {
      convert_dense(block, x + first * width, rows * width);
      scan_narrow<Op, kInAnyOrder<Op, C>>(block, out + first * width, rows, width, reverse, carries);
    });
  }
}

template <class Op, class T>
void scan(const ScanArgs& args) {
  const T* x = static_cast<const T*>(args.x);
  auto* out = static_cast<Result<T>*>(args.out);
  if (args.step == 1) return scan_rows<Op>(x, out, args.n, args.rows, args.reverse);
  if constexpr (std::is_integral_v<T>) {
    if (args.step == args.width && args.width <= kWidestNarrow)
      return scan_narrow_integers<Op>(x, out, args.n, args.width, args.reverse);
  }
  for (std::int64_t c = 0; c < args.width; c += kColumns) {
    const std::int64_t width = std::min(kColumns, args.width - c);
    Carry<T> carries[kColumns];
    std::fill_n(carries, width, Op::template first<Carry<T>>());
    if constexpr (kIsHalf<T>) {
      // The loop over a long row of bfloat16 converts elements on the fly.
      if (std::is_same_v<T, Half> || width < kShortRow) {
        scan_half_columns<Op>(x + c, out + c, args.n, args.step, width, args.reverse, carries);
        continue;
      }
    }
    scan_columns<Op>(x + c, out + c, args.n, args.step, width, args.reverse, carries);
  }
}

template <class T>
void recurrence(const ScanArgs& args, const void* added) {
  const T* a = static_cast<const T*>(args.x);
  const T* b = static_cast<const T*>(added);
  T* out = static_cast<T*>(args.out);
  for (std::int64_t c = 0; c < args.width; c += kColumns) {
    const std::int64_t width = std::min(kColumns, args.width - c);
    Carry<T> carries[kColumns] = {};
    for (std::int64_t i = 0; i < args.n; ++i) {
      const std::int64_t at = (args.reverse ? args.n - 1 - i : i) * args.step + c;
      for (std::int64_t k = 0; k < width; ++k) {
        // The first element's factor does not count: the product would be NaN for an infinite factor.
        const Carry<T> before = i == 0 ? Carry<T>{} : ProdScan::next(carries[k], widened(a[at + k]));
        carries[k] = widened(b[at + k]) + before;
        out[at + k] = rounded<T>(carries[k]);
      }
    }
  }
}

template <class Op, class... T>
void fill(ScanKernels& kernels, Scan which) {
  ((kernels.scan[static_cast<std::size_t>(which)][static_cast<std::size_t>(dtype_of<T>)] = scan<Op, T>), ...);
}

template <class... T>
void fill_recurrence(ScanKernels& kernels) {
  ((kernels.recurrence[static_cast<std::size_t>(dtype_of<T>)] = recurrence<T>), ...);
}

}  // namespace

void fill_scan(ScanKernels& kernels) {
  const auto fill_sums = [&]<class... T>() {
    fill<SumScan, T...>(kernels, Scan::Sum);
    fill<ProdScan, T...>(kernels, Scan::Prod);
  };
  fill_sums.operator()<bool, std::int8_t, std::int16_t, std::int32_t, std::int64_t>();
  fill_sums.operator()<std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>();
  fill_sums.operator()<Half, BFloat16, float, double, std::complex<float>, std::complex<double>>();
  fill<LogSumExpScan, Half, BFloat16, float, double, std::complex<float>, std::complex<double>>(kernels,
                                                                                                Scan::LogSumExp);
  fill_recurrence<Half, BFloat16, float, double, std::complex<float>, std::complex<double>>(kernels);
  fill_scan_positions(kernels);
}

}  // namespace lamella::cpu
