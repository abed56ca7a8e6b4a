#pragma once

#include <cmath>
#include <cstdint>

#include "ops/simd/hd.h"

namespace lamella {

enum class Resampling : std::uint8_t { Nearest, NearestExact, Linear, Cubic, Area, SmoothLinear, SmoothCubic };

/// An axis that is resampled: each element of the result is a weighted sum of `taps` elements of the source. The first
/// and the last of these never come before those of the element in front.
struct ResampleRule {
  Resampling how = Resampling::Nearest;
  std::int64_t in = 1;
  std::int64_t out = 1;
  std::int64_t taps = 1;
  /// Elements of the source per element of the result.
  double ratio = 1;
  bool align_corners = false;

  /// Calls set(k, source, weight) for the taps of element o, in order.
  template <class F>
  LM_HD void for_each_tap(std::int64_t o, F&& set) const {
    const auto put = [&](std::int64_t k, std::int64_t source, double weight) {
      set(k, source < 0 ? 0 : source < in ? source : in - 1, weight);
    };
    switch (how) {
      case Resampling::Nearest:
      case Resampling::NearestExact:
        return put(0, nearest(o), 1.0);
      case Resampling::Linear: {
        const double at = std::fmax(0.0, source_of(o));
        const auto whole = static_cast<std::int64_t>(at);
        const std::int64_t left = whole < in ? whole : in - 1;
        const double share = left + 1 < in ? at - static_cast<double>(left) : 0;
        put(0, left, 1 - share);
        return put(1, left + 1, share);
      }
      case Resampling::Cubic: {
        const double at = source_of(o);
        const double left = std::floor(at);
        for (std::int64_t k = 0; k < 4; ++k) {
          const auto place = static_cast<double>(k - 1);
          put(k, static_cast<std::int64_t>(left) + k - 1, cubic(at - left - place, -0.75));
        }
        return;
      }
      case Resampling::Area: {
        const std::int64_t count = last(o) - first(o);
        for (std::int64_t k = 0; k < taps; ++k) {
          put(k, first(o) + (k < count ? k : count - 1), k < count ? 1.0 / static_cast<double>(count) : 0);
        }
        return;
      }
      case Resampling::SmoothLinear:
      case Resampling::SmoothCubic: {
        const std::int64_t begin = first(o);
        const std::int64_t end = last(o);
        double total = 0;
        for (std::int64_t i = begin; i < end; ++i) total += smooth(o, i);
        for (std::int64_t k = 0; k < taps; ++k) {
          const std::int64_t i = begin + k;
          put(k, i, i < end && total != 0 ? smooth(o, i) / total : 0);
        }
        return;
      }
    }
  }

  /// Returns the first of the elements that Area and the smooth ones average, and the one behind the last.
  LM_HD std::int64_t first(std::int64_t o) const {
    if (how == Resampling::Area) return o * in / out;
    const auto at = static_cast<std::int64_t>(std::floor(center(o) - support() + 0.5));
    return at < 0 ? 0 : at < in ? at : in - 1;
  }
  LM_HD std::int64_t last(std::int64_t o) const {
    if (how == Resampling::Area) return ((o + 1) * in + out - 1) / out;
    const auto at = static_cast<std::int64_t>(std::floor(center(o) + support() + 0.5));
    const std::int64_t least = first(o) + 1;
    return at < least ? least : at < in ? at : in;
  }

 private:
  /// Computed in single precision like other libraries, so that the same element is the nearest.
  LM_HD std::int64_t nearest(std::int64_t o) const {
    const float at =
        (static_cast<float>(o) + (how == Resampling::NearestExact ? 0.5F : 0.0F)) * static_cast<float>(ratio);
    return static_cast<std::int64_t>(std::floor(at));
  }
  LM_HD double source_of(std::int64_t o) const {
    return align_corners ? static_cast<double>(o) * ratio : (static_cast<double>(o) + 0.5) * ratio - 0.5;
  }
  /// Returns the weight of an element at distance t in cubic convolution with the parameter a (Keys, 1981).
  LM_HD static double cubic(double t, double a) {
    t = std::fabs(t);
    if (t <= 1) return ((a + 2) * t - (a + 3)) * t * t + 1;
    return t < 2 ? ((a * t - 5 * a) * t + 8 * a) * t - 4 * a : 0;
  }
  // The smooth filters are centered at each element of the result, and widened if that is smaller than the source.
  LM_HD double widening() const { return ratio > 1 ? ratio : 1.0; }
  LM_HD double support() const { return (how == Resampling::SmoothCubic ? 2 : 1) * widening(); }
  LM_HD double center(std::int64_t o) const { return ratio * (static_cast<double>(o) + 0.5); }
  LM_HD double smooth(std::int64_t o, std::int64_t i) const {
    const double t = (static_cast<double>(i) - center(o) + 0.5) / widening();
    return how == Resampling::SmoothCubic ? cubic(t, -0.5) : std::fmax(0.0, 1 - std::fabs(t));
  }
};

}  // namespace lamella
