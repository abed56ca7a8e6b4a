#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>

#include "ops/random/element_stream.h"

// Samplers that use a varying number of uniform numbers. All compute in double.

namespace lamella::random {

/// The first numbers of an element, one standard normal and one uniform in [0, 1), drawn for all elements at once.
struct First {
  double normal;
  double uniform;
};

/// Samples a gamma distribution (Marsaglia and Tsang, "A simple method for generating gamma variables", 2000). For a
/// concentration below 1, a number of concentration + 1 times u^(1 / concentration), computed by logarithms.
LM_HD inline double sample_gamma(First first, ElementStream& stream, double concentration, double rate) {
  if (!(concentration > 0) || !std::isfinite(concentration)) return concentration == 0 ? 0 : concentration + rate;
  const double shape = concentration < 1 ? concentration + 1 : concentration;
  const double d = shape - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  double x = first.normal;
  double u = 1 - first.uniform;
  for (;; x = stream.normal(), u = 1 - stream.uniform()) {
    const double root = 1 + c * x;
    if (root <= 0) continue;
    const double v = root * root * root;
    // The squeeze step of Marsaglia and Tsang, which most numbers pass, avoids the logarithms.
    if (u >= 1 - 0.0331 * (x * x) * (x * x) && std::log(u) >= 0.5 * x * x + d * (1 - v + std::log(v))) continue;
    if (concentration >= 1) return d * v / rate;
    return std::exp(std::log(d * v) - stream.exponential() / concentration) / rate;
  }
}

/// Returns log(n!), by Stirling's series from 10 on.
LM_HD inline double log_factorial(double n) {
  static constexpr double kSmall[] = {1, 1, 2, 6, 24, 120, 720, 5040, 40320, 362880};
  if (n < 10) return std::log(kSmall[static_cast<int>(n)]);
  const double inverse = 1 / n;
  const double square = inverse * inverse;
  return (n + 0.5) * std::log(n) - n + 0.5 * std::log(2 * std::numbers::pi) +
         inverse * (1.0 / 12 - square * (1.0 / 360 - square * (1.0 / 1260 - square / 1680)));
}

/// Samples a Poisson distribution. For rates below 10 by inversion: the count at which the sum of the probabilities
/// exceeds a uniform number; above by algorithm PTRS of Hoermann, "The transformed rejection method for generating
/// Poisson random variables" (1993).
LM_HD inline double sample_poisson(ElementStream& stream, double rate) {
  if (!(rate > 0) || !std::isfinite(rate)) return rate;
  if (rate < 10) {
    const double u = stream.own_uniform();
    double term = std::exp(-rate);
    double sum = term;
    double count = 0;
    // Stops when terms become negligible: by rounding, the sum may never reach u.
    while (u >= sum && term > 0x1p-60) {
      term *= rate / ++count;
      sum += term;
    }
    return count;
  }
  const double root = std::sqrt(rate);
  const double log_rate = std::log(rate);
  const double b = 0.931 + 2.53 * root;
  const double a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
  const double v_limit = 0.9277 - 3.6224 / (b - 2);
  for (;;) {
    const double u = stream.uniform() - 0.5;
    const double v = 1 - stream.uniform();
    const double side = 0.5 - std::fabs(u);
    const double k = std::floor((2 * a / side + b) * u + rate + 0.43);
    if (side >= 0.07 && v <= v_limit) return k;
    if (!(k >= 0) || (side < 0.013 && v > side)) continue;
    // Of large rates by Stirling's formula: the terms of the other one are so large that they round to whole numbers.
    const double log_chance = rate > 1e8 ? (k - rate) - k * std::log1p((k - rate) / rate) -
                                               std::log(2 * std::numbers::pi * k) / 2 - 1 / (12 * k)
                                         : k * log_rate - rate - log_factorial(k);
    if (std::log(v * inverse_alpha / (a / (side * side) + b)) <= log_chance) return k;
  }
}

/// Samples a standard normal number in [low, high] with 0 < low: an exponential number or, if the interval is short, a
/// uniform one, accepted with the probability that makes it normal (Robert, "Simulation of truncated normal variables",
/// 1995).
LM_HD inline double sample_normal_tail(ElementStream& stream, double low, double high) {
  const double root = std::sqrt(low * low + 4);
  const double wide = 2 * std::sqrt(std::numbers::e) / (low + root) * std::exp((low * low - low * root) / 4);
  if (high - low > wide) {
    const double slope = (low + root) / 2;
    for (;;) {
      const double x = low + stream.exponential() / slope;
      if (x <= high && stream.uniform() < std::exp(-0.5 * (x - slope) * (x - slope))) return x;
    }
  }
  for (;;) {
    const double x = low + stream.uniform() * (high - low);
    if (stream.uniform() < std::exp(0.5 * (low - x) * (low + x))) return x;
  }
}

/// Samples a standard normal number in [low, high].
LM_HD inline double sample_truncated(ElementStream& stream, double low, double high) {
  if (low > 0) return sample_normal_tail(stream, low, high);
  if (high < 0) return -sample_normal_tail(stream, -high, -low);
  // The interval contains 0. A normal number often falls into a wide interval; a uniform one is often accepted in a
  // short one.
  if (high - low > std::sqrt(2 * std::numbers::pi)) {
    for (;;) {
      const double x = stream.normal();
      if (x >= low && x <= high) return x;
    }
  }
  for (;;) {
    const double x = low + stream.uniform() * (high - low);
    if (stream.uniform() < std::exp(-0.5 * x * x)) return x;
  }
}

LM_HD inline double sample_truncated_normal(First first, ElementStream& stream, double mean, double std, double low,
                                            double high) {
  if (!(low < high) || !std::isfinite(mean) || !(std > 0) || !std::isfinite(std)) {
    return low == high || std == 0 ? std::clamp(mean, low, high) : std::numeric_limits<double>::quiet_NaN();
  }
  const double lower = (low - mean) / std;
  const double upper = (high - mean) / std;
  const bool inside = first.normal >= lower && first.normal <= upper;
  const double x = inside ? first.normal : sample_truncated(stream, lower, upper);
  return std::clamp(mean + std * x, low, high);
}

/// The samplers above, by which kernels are chosen.
enum class Sampler : std::uint8_t { Gamma, Poisson, TruncatedNormal };

struct GammaSampler {
  static constexpr Sampler kSampler = Sampler::Gamma;
  LM_HD double operator()(First first, ElementStream& stream, double concentration, double rate) const {
    return sample_gamma(first, stream, concentration, rate);
  }
};
struct PoissonSampler {
  static constexpr Sampler kSampler = Sampler::Poisson;
  LM_HD double operator()(ElementStream& stream, double rate) const { return sample_poisson(stream, rate); }
};
struct TruncatedNormalSampler {
  static constexpr Sampler kSampler = Sampler::TruncatedNormal;
  LM_HD double operator()(First first, ElementStream& stream, double mean, double std, double low, double high) const {
    return sample_truncated_normal(first, stream, mean, std, low, high);
  }
};

}  // namespace lamella::random
