#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "ops/cpu/scan_table.h"
#include "ops/movement/convert.h"
#include "ops/simd/vec.h"

namespace lamella::cpu {
namespace {

using simd::Native;
using simd::Vec;

/// What is carried from element to element.
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
      return {carry.real() * x.real() - carry.imag() * x.imag(), carry.real() * x.imag() + carry.imag() * x.real()};
    } else {
      return carry * x;
    }
  }
};

struct LogSumExpScan {
  template <class C>
  static C first() {
    return -std::numeric_limits<C>::infinity();
  }
  template <class C>
  static C next(C carry, C x) {
    if (std::isnan(carry) || std::isnan(x)) return carry + x;
    const C high = std::max(carry, x);
    return std::isinf(high) ? high : high + std::log1p(std::exp(std::min(carry, x) - high));
  }
};

/// Lane i of the result is lane i - kShift of v, 0 for the first ones.
template <int kShift, class V, std::size_t... I>
V shifted_up(V v, std::index_sequence<I...>) {
  constexpr int kSize = sizeof...(I);
  return __builtin_shufflevector(v, V{}, (static_cast<int>(I) < kShift ? kSize : static_cast<int>(I) - kShift)...);
}

/// The sums of the first lanes, in every lane.
template <int kShift = 1>
Native<double> prefix_sums(Native<double> v) {
  constexpr int kSize = Vec<double>::size;
  if constexpr (kShift < kSize) {
    return prefix_sums<2 * kShift>(v + shifted_up<kShift>(v, std::make_index_sequence<kSize>()));
  } else {
    return v;
  }
}

/// A row of sums, a vector at a time, so that the chain of additions is as many times shorter.
template <class T>
std::int64_t sum_row(const T* x, T* out, std::int64_t n, double& carry) {
  constexpr int kSize = Vec<double>::size;
  using Narrow [[gnu::vector_size(sizeof(T) * kSize)]] = T;
  std::int64_t i = 0;
  for (; i + kSize <= n; i += kSize) {
    Narrow in;
    std::memcpy(&in, x + i, sizeof in);
    const Native<double> sums = prefix_sums(__builtin_convertvector(in, Native<double>)) + carry;
    carry = sums[kSize - 1];
    const Narrow result = __builtin_convertvector(sums, Narrow);
    std::memcpy(out + i, &result, sizeof result);
  }
  return i;
}

template <class Op, class T>
void scan_row(const T* x, Result<T>* out, std::int64_t n, bool reverse) {
  Carry<T> carry = Op::template first<Carry<T>>();
  std::int64_t i = 0;
  if (reverse) {
    while (n-- > 0) out[n] = rounded<T>(carry = Op::next(carry, widened(x[n])));
    return;
  }
  if constexpr (std::is_same_v<Op, SumScan> && std::is_floating_point_v<T>) i = sum_row(x, out, n, carry);
  for (; i < n; ++i) out[i] = rounded<T>(carry = Op::next(carry, widened(x[i])));
}

constexpr std::int64_t kColumns = 256;

template <class Op, class T>
void scan(const ScanArgs& args) {
  const T* x = static_cast<const T*>(args.x);
  auto* out = static_cast<Result<T>*>(args.out);
  if (args.step == 1) return scan_row<Op>(x, out, args.n, args.reverse);
  for (std::int64_t c = 0; c < args.width; c += kColumns) {
    const std::int64_t width = std::min(kColumns, args.width - c);
    Carry<T> carries[kColumns];
    std::fill_n(carries, width, Op::template first<Carry<T>>());
    for (std::int64_t i = 0; i < args.n; ++i) {
      const std::int64_t at = (args.reverse ? args.n - 1 - i : i) * args.step + c;
      for (std::int64_t k = 0; k < width; ++k) carries[k] = Op::next(carries[k], widened(x[at + k]));
      for (std::int64_t k = 0; k < width; ++k) out[at + k] = rounded<T>(carries[k]);
    }
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
        // Before the first element there is nothing, whatever it would be multiplied with.
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
  fill<LogSumExpScan, Half, BFloat16, float, double>(kernels, Scan::LogSumExp);
  fill_recurrence<Half, BFloat16, float, double, std::complex<float>, std::complex<double>>(kernels);
  fill_scan_positions(kernels);
}

}  // namespace lamella::cpu
