#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace lamella {

/// A 64-bit additive checksum after Fletcher (IEEE Trans. Commun. 30, 1982): it depends on values and their order, and
/// runs at the speed of memory.
class Checksum {
 public:
  void add(const char* data, std::size_t bytes) noexcept {
    // In variables of their own: members would be written back after each word, as they might be among the data.
    Pair sums[kPairs], orders[kPairs];
    std::memcpy(sums, sums_.data(), sizeof sums);
    std::memcpy(orders, orders_.data(), sizeof orders);
    const auto take = [&](const char* from) {
      for (std::size_t i = 0; i < kPairs; ++i) {
        Pair words;
        std::memcpy(&words, from + i * sizeof words, sizeof words);
        sums[i] += words;
        orders[i] += sums[i];
      }
    };
    for (; bytes >= sizeof sums; data += sizeof sums, bytes -= sizeof sums) take(data);
    if (bytes > 0) {
      char last[sizeof sums] = {};
      std::memcpy(last, data, bytes);
      take(last);
    }
    std::memcpy(sums_.data(), sums, sizeof sums);
    std::memcpy(orders_.data(), orders, sizeof orders);
  }
  std::uint64_t value() const noexcept {
    std::uint64_t mixed = 0;
    for (std::size_t i = 0; i < kLanes; ++i) {
      mixed = (mixed ^ sums_[i]) * 0x9e3779b97f4a7c15u;
      mixed ^= mixed >> 29;
      mixed = (mixed ^ orders_[i]) * 0xbf58476d1ce4e5b9u;
      mixed ^= mixed >> 32;
    }
    return mixed;
  }

 private:
  using Pair [[gnu::vector_size(16)]] = std::uint64_t;
  static constexpr std::size_t kPairs = 4;
  static constexpr std::size_t kLanes = 2 * kPairs;

  std::array<std::uint64_t, kLanes> sums_ = {};
  std::array<std::uint64_t, kLanes> orders_ = {};
};

}  // namespace lamella
