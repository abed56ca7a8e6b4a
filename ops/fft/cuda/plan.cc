#include "ops/fft/cuda/plan.h"

#include <cmath>

#include "engine/core/error.h"

namespace lamella::cuda {
namespace {

/// Returns the divisor of n, at most `most`, that is closest to `wanted` by ratio.
std::int64_t divisor_near(std::int64_t n, double wanted, std::int64_t most) {
  std::int64_t best = 1;
  double best_ratio = wanted;
  for (std::int64_t divisor = 2; divisor <= most; ++divisor) {
    if (n % divisor != 0) continue;
    const auto size = static_cast<double>(divisor);
    const double ratio = size > wanted ? size / wanted : wanted / size;
    if (ratio <= best_ratio) {
      best = divisor;
      best_ratio = ratio;
    }
  }
  return best;
}

}  // namespace

FftFactors fft_levels(std::int64_t length, std::int64_t most) {
  for (std::size_t levels = 1; levels <= kMostFftLevels; ++levels) {
    // Levels of a quarter of what fits have several lines in a block, whose neighbors in memory are read together.
    const std::int64_t wide = levels == 1 || levels == kMostFftLevels ? most : most / 4;
    FftFactors result;
    std::int64_t rest = length;
    for (std::size_t left = levels; left > 1; --left) {
      const double wanted = std::pow(static_cast<double>(rest), 1 / static_cast<double>(left));
      result.push_back(divisor_near(rest, wanted, wide));
      rest /= result.back();
    }
    if (rest > wide) continue;
    result.push_back(rest);
    return result;
  }
  fail<RuntimeError>("[fft] a length of ", length, " has no ", kMostFftLevels, " factors of at most ", most);
}

FftFactors fft_radices(std::int64_t factor) {
  FftFactors result;
  for (const std::int64_t radix : {8, 4, 2, 3, 5, 7, 11, 13}) {
    for (; factor % radix == 0; factor /= radix) result.push_back(radix);
  }
  return result;
}

}  // namespace lamella::cuda
