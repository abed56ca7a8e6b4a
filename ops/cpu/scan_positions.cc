#include <algorithm>
#include <type_traits>

#include "ops/cpu/scan_table.h"
#include "ops/movement/convert.h"
#include "ops/simd/any_lane.h"
#include "ops/simd/vec.h"

namespace lamella::cpu {
namespace {

using simd::Vec;

constexpr std::int64_t kColumns = 256;

/// What is compared: 16-bit floats as float.
template <class T>
using Compared = std::conditional_t<kIsHalf<T>, float, T>;

/// Whether x, an element or a vector of them, takes the place of the most extreme one before it. NaN does always, and
/// is only followed by another one.
template <bool kMax, class X>
auto takes_over(X x, X best) {
  if constexpr (kMax) {
    return (x != x) | (x >= best);
  } else {
    return (x != x) | (x <= best);
  }
}

template <class T, bool kMax>
void positions_of_row(const T* x, std::int64_t* out, T* values, std::int64_t n) {
  auto best = static_cast<Compared<T>>(x[0]);
  std::int64_t at = 0;
  const auto one = [&](std::int64_t i) {
    const auto value = static_cast<Compared<T>>(x[i]);
    if (takes_over<kMax>(value, best)) {
      best = value;
      at = i;
    }
    out[i] = at;
    if (values) values[i] = x[at];
  };
  std::int64_t i = 0;
  if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
    // In most vectors there is nothing new.
    using V = Vec<T>;
    for (; i + V::size <= n; i += V::size) {
      if (simd::any_lane(takes_over<kMax>(V::load(x + i), V(best)).native())) {
        for (int k = 0; k < V::size; ++k) one(i + k);
      } else {
        std::fill_n(out + i, V::size, at);
        if (values) V(best).store(values + i);
      }
    }
  }
  for (; i < n; ++i) one(i);
}

template <class T, bool kMax>
void positions(const ScanArgs& args) {
  const T* x = static_cast<const T*>(args.x);
  auto* out = static_cast<std::int64_t*>(args.out);
  auto* values = static_cast<T*>(args.values);
  if (args.step == 1) {
    for (std::int64_t at = 0; at < args.rows * args.n; at += args.n)
      positions_of_row<T, kMax>(x + at, out + at, values ? values + at : nullptr, args.n);
    return;
  }
  for (std::int64_t c = 0; c < args.width; c += kColumns) {
    const std::int64_t width = std::min(kColumns, args.width - c);
    Compared<T> best[kColumns];
    std::int64_t at[kColumns] = {};
    for (std::int64_t k = 0; k < width; ++k) best[k] = static_cast<Compared<T>>(x[c + k]);
    for (std::int64_t i = 0; i < args.n; ++i) {
      const std::int64_t row = i * args.step + c;
      for (std::int64_t k = 0; k < width; ++k) {
        const auto value = static_cast<Compared<T>>(x[row + k]);
        const bool newer = takes_over<kMax>(value, best[k]);
        at[k] = newer ? i : at[k];
        best[k] = newer ? value : best[k];
        out[row + k] = at[k];
      }
      if (values)
        std::transform(best, best + width, values + row, [](Compared<T> value) { return static_cast<T>(value); });
    }
  }
}

template <class... T>
void fill(ScanKernels& kernels) {
  ((kernels.scan[static_cast<std::size_t>(Scan::Max)][static_cast<std::size_t>(dtype_of<T>)] = positions<T, true>,
    kernels.scan[static_cast<std::size_t>(Scan::Min)][static_cast<std::size_t>(dtype_of<T>)] = positions<T, false>),
   ...);
}

}  // namespace

void fill_scan_positions(ScanKernels& kernels) {
  fill<bool, std::int8_t, std::int16_t, std::int32_t, std::int64_t>(kernels);
  fill<std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>(kernels);
  fill<Half, BFloat16, float, double>(kernels);
}

}  // namespace lamella::cpu
