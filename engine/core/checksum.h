#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace lamella {

/// A 64-bit additive checksum after Fletcher (IEEE Trans. Commun. 30, 1982): it depends on values and their order, and
/// runs at the speed of memory.
class Checksum {
 public:
  void add(const char* data, std::size_t bytes) noexcept {
    constexpr std::size_t kWords = kLanes * sizeof(std::uint64_t);
    while (bytes >= kWords) {
      std::uint64_t words[kLanes];
      std::memcpy(words, data, kWords);
      for (std::size_t i = 0; i < kLanes; ++i) {
        sums_[i] += words[i];
        orders_[i] += sums_[i];
      }
      data += kWords;
      bytes -= kWords;
    }
    if (bytes == 0) return;
    std::uint64_t words[kLanes] = {};
    std::memcpy(words, data, bytes);
    for (std::size_t i = 0; i < kLanes; ++i) {
      sums_[i] += words[i];
      orders_[i] += sums_[i];
    }
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
  static constexpr std::size_t kLanes = 4;
  std::uint64_t sums_[kLanes] = {};
  std::uint64_t orders_[kLanes] = {};
};

}  // namespace lamella
