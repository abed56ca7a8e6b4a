#pragma once

#include <array>
#include <cstdint>

namespace lamella {

/// Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", 2011): a bijection of
/// 128-bit counters under a 64-bit key. The n-th number is computed from n alone, so any split of the work over threads
/// or devices gives the same numbers.
struct Philox {
  static constexpr std::uint32_t kMultiplierA = 0xD2511F53u;
  static constexpr std::uint32_t kMultiplierB = 0xCD9E8D57u;
  static constexpr std::uint32_t kWeylA = 0x9E3779B9u;
  static constexpr std::uint32_t kWeylB = 0xBB67AE85u;
  static constexpr int kRounds = 10;
  using Block = std::array<std::uint32_t, 4>;

  /// Returns the four words of counter `block` in the stream of `seed`.
  static constexpr Block at(std::uint64_t seed, std::uint64_t block) {
    return rounds({static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32), 0, 0},
                  {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
  }

  static constexpr Block rounds(Block counter, std::array<std::uint32_t, 2> key) {
    for (int round = 0; round < kRounds; ++round) {
      const std::uint64_t a = std::uint64_t{kMultiplierA} * counter[0];
      const std::uint64_t b = std::uint64_t{kMultiplierB} * counter[2];
      counter = {static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(b),
                 static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(a)};
      key[0] += kWeylA;
      key[1] += kWeylB;
    }
    return counter;
  }
};

}  // namespace lamella
