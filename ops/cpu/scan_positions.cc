#include <algorithm>
#include <limits>
#include <type_traits>

#include "ops/cpu/scan_table.h"
#include "ops/sort/keys.h"

namespace lamella::cpu {
namespace {

constexpr std::int64_t kColumns = 256;

/// NaN is more than anything both for the largest and for the smallest.
template <class T, bool kMax>
sorting::Key<T> rank_of(T x) {
  using K = sorting::Key<T>;
  const K key = sorting::key_of(x);
  if constexpr (kMax) {
    return key;
  } else {
    // The key of NaN is that of no number, so its complement is free to be the largest.
    const bool nan = sorting::kIsSmallFloat<T> || std::is_floating_point_v<T>
                         ? key == (sorting::kIsSmallFloat<T> ? K{0xffff} : std::numeric_limits<K>::max())
                         : false;
    return nan ? std::numeric_limits<K>::max() : static_cast<K>(~key);
  }
}

template <class T, bool kMax>
void positions_of_row(const T* x, std::int64_t* out, std::int64_t n) {
  sorting::Key<T> best = 0;
  std::int64_t at = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const sorting::Key<T> rank = rank_of<T, kMax>(x[i]);
    at = rank >= best ? i : at;
    best = std::max(rank, best);
    out[i] = at;
  }
}

template <class T, bool kMax>
void positions(const ScanArgs& args) {
  const T* x = static_cast<const T*>(args.x);
  auto* out = static_cast<std::int64_t*>(args.out);
  if (args.step == 1) return positions_of_row<T, kMax>(x, out, args.n);
  for (std::int64_t c = 0; c < args.width; c += kColumns) {
    const std::int64_t width = std::min(kColumns, args.width - c);
    sorting::Key<T> best[kColumns] = {};
    std::int64_t at[kColumns] = {};
    for (std::int64_t i = 0; i < args.n; ++i) {
      const std::int64_t row = i * args.step + c;
      for (std::int64_t k = 0; k < width; ++k) {
        const sorting::Key<T> rank = rank_of<T, kMax>(x[row + k]);
        at[k] = rank >= best[k] ? i : at[k];
        best[k] = std::max(rank, best[k]);
        out[row + k] = at[k];
      }
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
