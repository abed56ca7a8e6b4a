#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "ops/simd/hd.h"

namespace lamella {

/// The divisor of a mean: the size of the window within the padding, the number of its elements inside x, or 1.
enum class PoolDivisor : std::uint8_t { Padded, Inside, None };

/// The windows of pooling along one axis. Window o is the elements begin(o), begin(o) + step, .. below end(o); neither
/// ever decreases with o.
struct PoolWindows {
  std::int64_t in = 1;
  std::int64_t out = 1;
  std::int64_t kernel = 1;
  std::int64_t stride = 1;
  std::int64_t pad_low = 0;
  std::int64_t pad_high = 0;
  std::int64_t step = 1;
  PoolDivisor divisor = PoolDivisor::None;
  /// True if window o of n reaches from floor(o in / n) to ceil((o + 1) in / n); the numbers above are not used.
  bool adaptive = false;
  /// Factor of all sums.
  double factor = 1;

  LM_HD std::int64_t begin(std::int64_t o) const {
    if (adaptive) return share(o, in, out);
    // The first element inside x, a whole number of steps from the window's own begin.
    const std::int64_t first = o * stride - pad_low;
    return first < 0 ? first + (-first + step - 1) / step * step : first;
  }
  LM_HD std::int64_t end(std::int64_t o) const {
    if (adaptive) return share_up(o + 1, in, out);
    const std::int64_t end = padded_end(o);
    const std::int64_t first = begin(o);
    const std::int64_t inside = end < in ? end : in;
    return first > inside ? first : inside;
  }
  /// Returns what the sum of a window is divided by; 0 for a sum that is 0.
  LM_HD std::int64_t count(std::int64_t o) const {
    if (adaptive) return end(o) - begin(o);
    if (divisor == PoolDivisor::None) return 1;
    return divisor == PoolDivisor::Padded ? padded_end(o) - (o * stride - pad_low) : end(o) - begin(o);
  }
  LM_HD double scale_of(std::int64_t count) const { return count > 0 ? factor / static_cast<double>(count) : 0.0; }

 private:
  LM_HD std::int64_t padded_end(std::int64_t o) const {
    const std::int64_t reached = o * stride - pad_low + step * (kernel - 1) + 1;
    return reached < in + pad_high ? reached : in + pad_high;
  }
  // floor(i a / b) and ceil(i a / b), computed without the products, which may overflow.
  LM_HD static std::int64_t share(std::int64_t i, std::int64_t a, std::int64_t b) {
    return i * (a / b) + i * (a % b) / b;
  }
  LM_HD static std::int64_t share_up(std::int64_t i, std::int64_t a, std::int64_t b) {
    return i * (a / b) + (i * (a % b) + b - 1) / b;
  }
};

/// Returns a window's sum times its scale, the reciprocal of a whole number; for integers the truncated quotient.
template <class A>
LM_HD A scaled_sum(A sum, double scale) {
  if constexpr (std::is_integral_v<A>) {
    constexpr double kLargest = 0x1p62;
    if (scale == 0) return 0;
    const auto divisor = static_cast<A>(std::llround(std::clamp(1 / scale, -kLargest, kLargest)));
    return divisor == -1 ? 0 - sum : sum / divisor;  // the lowest integer divided by -1 overflows
  } else {
    return sum * static_cast<A>(scale);
  }
}

}  // namespace lamella
