#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

#include "engine/runtime/philox.h"
#include "ops/random/fill.h"
#include "ops/simd/hd.h"

namespace lamella::random {

/// A stream of random numbers for one element, for methods that reject some. Philox keyed with 64 random bits of the
/// element, at counters that no draw uses.
class ElementStream {
 public:
  LM_HD explicit ElementStream(std::uint64_t key)
      : key_{static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)} {}

  /// Returns a uniform number in [0, 1) made of the element's key itself; for a sampler that draws nothing else.
  LM_HD double own_uniform() const { return unit_double(key_[1], key_[0]); }
  /// Returns a uniform number in [0, 1).
  LM_HD double uniform() {
    if (left_ == 0) {
      words_ = Philox::rounds({next_++, 0, kElementDomain, 0}, key_);
      left_ = 2;
    }
    const std::size_t at = left_ == 2 ? 0 : 2;
    --left_;
    return unit_double(words_[at], words_[at + 1]);
  }
  /// Returns an exponential number with mean 1.
  LM_HD double exponential() { return -std::log1p(-uniform()); }
  /// Returns a standard normal number.
  LM_HD double normal() {
    const double radius = std::sqrt(2 * exponential());
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }

 private:
  /// Third word of the counters; draws have 0 there, forks 1.
  static constexpr std::uint32_t kElementDomain = 2;

  std::array<std::uint32_t, 2> key_;
  std::uint32_t next_ = 0;
  Philox::Block words_{};
  int left_ = 0;
};

}  // namespace lamella::random
