#include "ops/index/long_sums.h"

#include <algorithm>
#include <utility>

namespace lamella {
namespace {

constexpr std::int64_t kLong = 16384;  // picks from which a look at their numbers pays
constexpr std::int64_t kPicksPerSample = 128;
constexpr std::int64_t kMostSamples = 8192;
constexpr std::int64_t kFrequent = 6;  // occurrences in the sample
constexpr std::int64_t kLeastPicks = 1024;
constexpr std::int64_t kPicksPerKey = 16;

}  // namespace

bool may_sum_long(DType dtype, std::int64_t count) {
  return count >= kLong && (dtype == DType::Float32 || dtype == DType::Complex64);
}

std::vector<std::int64_t> sample_positions(std::int64_t count) {
  const std::int64_t samples = std::min(count / kPicksPerSample, kMostSamples);
  std::vector<std::int64_t> positions(static_cast<std::size_t>(samples));
  // Regular positions would miss numbers that recur with a period, as padding does. The generator is Knuth's for 64
  // bits (The Art of Computer Programming, vol. 2, 3.3.4).
  std::uint64_t state = 1;
  const std::int64_t part = count / samples;
  for (std::int64_t i = 0; i < samples; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    positions[static_cast<std::size_t>(i)] =
        i * part + static_cast<std::int64_t>((state >> 33) % static_cast<std::uint64_t>(part));
  }
  return positions;
}

std::vector<std::int64_t> frequent_keys(std::vector<std::int64_t> sample) {
  std::ranges::sort(sample);
  std::vector<std::int64_t> keys;
  for (auto begin = sample.cbegin(); begin != sample.cend();) {
    const auto end = std::upper_bound(begin, sample.cend(), *begin);
    if (end - begin >= kFrequent) keys.push_back(*begin);
    begin = end;
  }
  return keys;
}

std::int64_t picks_between(std::size_t keys) {
  return std::max(kLeastPicks, kPicksPerKey * static_cast<std::int64_t>(keys));
}

LongSums::LongSums(DType dtype, std::vector<char*> elements, std::int64_t size, std::int64_t step)
    : elements_(std::move(elements)),
      size_(size),
      step_(step),
      floats_(dtype == DType::Complex64 ? 2 : 1),
      sums_(elements_.size() * static_cast<std::size_t>(size * floats_)) {}

template <class Visit>
void LongSums::for_each(Visit&& visit) {
  double* sum = sums_.data();
  for (char* const row : elements_) {
    for (std::int64_t k = 0; k < size_; ++k) {
      float* const element = reinterpret_cast<float*>(row + k * step_);
      for (std::int64_t part = 0; part < floats_; ++part) visit(element[part], *sum++);
    }
  }
}

void LongSums::collect() {
  for_each([](float& element, double& sum) {
    sum += element;
    element = 0;
  });
}

void LongSums::finish() {
  for_each([](float& element, double& sum) { element = static_cast<float>(sum + element); });
}

}  // namespace lamella
