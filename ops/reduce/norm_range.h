#pragma once

#include <cmath>
#include <limits>

#include "ops/simd/hd.h"

// Norms whose powers are beyond the range of numbers.

namespace lamella {

/// True if a sum of powers has over- or underflowed, or terms of it may have. NaN has not.
template <class T>
LM_HD bool is_beyond_range(T total) {
  return total < std::numeric_limits<T>::min() / std::numeric_limits<T>::epsilon() ||
         total > std::numeric_limits<T>::max();
}

/// Computes (sum of m^p)^(1 / p) with the magnitudes m divided by a power of two near the one that counts most: the
/// largest, or for p below 0 the smallest. All magnitudes are measured before the first is added.
class ScaledNorm {
 public:
  LM_HD explicit ScaledNorm(double p) : p_(p), extreme_(p > 0 ? 0 : std::numeric_limits<double>::infinity()) {}

  LM_HD void measure(double m) { extreme_ = (p_ > 0) == (m > extreme_) ? m : extreme_; }
  LM_HD void add(double m) {
    if (is_plain()) return;
    total_ += std::pow(std::ldexp(m, -exponent()), p_);
  }
  LM_HD double result() const { return is_plain() ? extreme_ : std::ldexp(std::pow(total_, 1 / p_), exponent()); }

  LM_HD double extreme() const { return extreme_; }
  LM_HD double total() const { return total_; }
  LM_HD void set_total(double total) { total_ = total; }

 private:
  /// True if the extreme element alone decides: 0, or infinity.
  LM_HD bool is_plain() const { return extreme_ == 0 || extreme_ > std::numeric_limits<double>::max(); }
  LM_HD int exponent() const { return std::ilogb(extreme_); }

  double p_;
  double extreme_;
  double total_ = 0;
};

}  // namespace lamella
