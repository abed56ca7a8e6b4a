#include <algorithm>
#include <cstring>
#include <type_traits>

#include "ops/cpu/rows.h"
#include "ops/cpu/tables/scan.h"
#include "ops/simd/any_lane.h"
#include "ops/simd/convert.h"
#include "ops/simd/vec.h"

namespace lamella::cpu {
namespace {

using simd::Vec;

constexpr std::int64_t kColumns = 256;

/// The type in which elements are compared: float for 16-bit floats.
template <class T>
using Compared = std::conditional_t<kIsHalf<T>, float, T>;

/// True if x, an element or a vector of them, replaces the extreme value so far. NaN always does, and only another NaN
/// replaces it.
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
  if constexpr (std::is_arithmetic_v<T>) {
    // Most vectors contain no new extreme value.
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

/// Positions of extremes down a few adjacent columns. The carried extremes are repeated for as many whole rows as fit
/// into a vector, because most vectors contain no new one.
template <class T, bool kMax>
class NarrowPositions {
 public:
  NarrowPositions(const T* first, std::int64_t width) : width_(width), taken_(V::size / width * width) {
    for (std::int64_t i = 0; i < V::size; ++i) best_[i] = first[i % width_];
  }

  /// Scans `rows` rows, the first of which has the number `number`; `values`, unless null, receives the extremes.
  void run(const T* x, std::int64_t* out, T* values, std::int64_t number, std::int64_t rows) {
    const std::int64_t n = rows * width_;
    std::int64_t i = 0;
    for (; i + V::size <= n; i += taken_) {
      const V best = V::load(best_);
      if (simd::any_lane(takes_over<kMax>(V::load(x + i), best).native())) {
        one_by_one(x + i, out + i, values ? values + i : nullptr, number + i / width_, taken_);
      } else {
        // The lanes beyond the whole rows are overwritten with the next ones.
        std::memcpy(out + i, at_, sizeof at_);
        if (values) best.store(values + i);
      }
    }
    one_by_one(x + i, out + i, values ? values + i : nullptr, number + i / width_, n - i);
  }

 private:
  using V = Vec<T>;

  void one_by_one(const T* x, std::int64_t* out, T* values, std::int64_t number, std::int64_t n) {
    for (std::int64_t k = 0; k < width_; ++k) {
      T best = best_[k];
      std::int64_t at = at_[k];
      std::int64_t row = number;
      for (std::int64_t i = k; i < n; i += width_, ++row) {
        const bool newer = takes_over<kMax>(x[i], best);
        at = newer ? row : at;
        best = newer ? x[i] : best;
        out[i] = at;
        if (values) values[i] = best;
      }
      for (std::int64_t i = k; i < V::size; i += width_) {
        best_[i] = best;
        at_[i] = at;
      }
    }
  }

  std::int64_t width_;
  std::int64_t taken_;
  T best_[V::size];
  std::int64_t at_[V::size] = {};
};

/// Scans all rows; 16-bit floats are converted in blocks.
template <class T, bool kMax>
void narrow_positions(const T* x, std::int64_t* out, T* values, std::int64_t n, std::int64_t width) {
  if constexpr (kIsHalf<T>) {
    constexpr std::int64_t kBlock = 512;
    float block[kBlock] = {};
    float extremes[kBlock];
    convert_dense(block, x, width);
    NarrowPositions<float, kMax> positions(block, width);
    const std::int64_t rows = kBlock / width;
    for (std::int64_t r = 0; r < n; r += rows) {
      const std::int64_t count = std::min(rows, n - r);
      convert_dense(block, x + r * width, count * width);
      positions.run(block, out + r * width, values ? extremes : nullptr, r, count);
      if (values) convert_dense(values + r * width, extremes, count * width);
    }
  } else {
    NarrowPositions<T, kMax>(x, width).run(x, out, values, 0, n);
  }
}

/// Smallest number of rows that are scanned in vectors: the first rows often contain a new extreme value.
constexpr std::int64_t kManyRows = 32;

/// Widest rows scanned in vectors. The loop over longer rows takes the same time with or without new extremes, except
/// for 16-bit floats.
template <class T>
constexpr std::int64_t kWidestNarrow = std::min(Vec<Compared<T>>::size, kIsHalf<T> ? 16 : 7);

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
  if (args.step == args.width && args.width <= kWidestNarrow<T> && args.n >= kManyRows)
    return narrow_positions<T, kMax>(x, out, values, args.n, args.width);
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

/// The type of elements in memory; a bool is compared as its byte, 0 or 1.
template <class T>
using Stored = std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>;

template <class... T>
void fill(ScanKernels& kernels) {
  const auto set = [&]<class One>(Scan scan, DType dtype, One kernel) {
    kernels.scan[static_cast<std::size_t>(scan)][static_cast<std::size_t>(dtype)] = kernel;
  };
  ((set(Scan::Max, dtype_of<T>, positions<Stored<T>, true>), set(Scan::Min, dtype_of<T>, positions<Stored<T>, false>)),
   ...);
}

}  // namespace

void fill_scan_positions(ScanKernels& kernels) {
  fill<bool, std::int8_t, std::int16_t, std::int32_t, std::int64_t>(kernels);
  fill<std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>(kernels);
  fill<Half, BFloat16, float, double>(kernels);
}

}  // namespace lamella::cpu
