#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/runtime/parallel.h"
#include "ops/sort/radix.h"

// Elements of 8 bits: how often each of their values occurs tells where all of them go.

namespace lamella::sorting {

inline constexpr std::size_t kByteValues = 256;

/// How often each byte occurs among n, at most kMostRanked. Neighbors are counted in tables of their own, as a count
/// waits for the one before it where they are the same.
inline void count_bytes(const std::uint8_t* x, std::int64_t n, std::int64_t* counts) {
  constexpr int kTables = 4;
  constexpr std::int64_t kStep = 8;
  std::uint32_t tables[kTables][kByteValues] = {};
  std::int64_t i = 0;
  for (; i + kStep <= n; i += kStep) {
    std::uint64_t word;
    std::memcpy(&word, x + i, sizeof word);
    for (int k = 0; k < kStep; ++k) ++tables[k % kTables][(word >> (8 * k)) & 0xff];
  }
  for (; i < n; ++i) ++tables[0][x[i]];
  for (std::size_t byte = 0; byte < kByteValues; ++byte) {
    counts[byte] = 0;
    for (const auto& table : tables) counts[byte] += table[byte];
  }
}

/// Writes 1 for each of n bytes that is not 0, else 0; returns how many are not.
inline std::int64_t copy_bits(const std::uint8_t* x, std::int64_t n, std::uint8_t* bits) {
  constexpr std::int64_t kStep = 8;
  constexpr std::uint64_t kEachByte = 0x0101010101010101u;
  std::int64_t ones = 0;
  std::int64_t i = 0;
  for (; i + kStep <= n; i += kStep) {
    std::uint64_t word;
    std::memcpy(&word, x + i, sizeof word);
    word = (word | word >> 4) & (0x0f * kEachByte);
    word = (word | word >> 2) & (0x03 * kEachByte);
    word = (word | word >> 1) & kEachByte;
    std::memcpy(bits + i, &word, sizeof word);
    ones += static_cast<std::int64_t>((word * kEachByte) >> 56);  // the sum of its bytes
  }
  for (; i < n; ++i) ones += bits[i] = x[i] != 0;
  return ones;
}

/// The positions of n bools: first of those that are `first`, then of the others, as they stand. `bits` is room for a
/// copy, as what is counted and what is placed must be the same, whoever writes to x meanwhile.
inline void bit_positions(const std::uint8_t* x, std::int64_t n, std::uint8_t first, std::uint8_t* bits,
                          std::int64_t* y) {
  const std::int64_t ones = copy_bits(x, n, bits);
  const std::int64_t all = first ? ones : n - ones;
  std::int64_t before = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    // By a mask, as a branch would be wrong as often as not.
    const std::int64_t ahead = bits[i] == first;
    const std::int64_t behind = all + i - before;
    y[behind ^ ((behind ^ before) & -ahead)] = i;
    before += ahead;
  }
}

/// Sorts rows of bytes, on several threads where a row is long. `flip` is what turns a byte into its key and back.
class ByteSort {
 public:
  ByteSort(std::int64_t n, std::uint8_t flip)
      : n_(n),
        parts_(n < kParallelRow ? 1 : thread_count()),
        part_((n + parts_ - 1) / parts_),
        flip_(flip),
        counts_(static_cast<std::size_t>(parts_) * kByteValues) {}

  /// Calls f(byte, how often it occurs) in order.
  template <class F>
  void for_each_value(const std::uint8_t* x, F&& f) {
    for_each_part([&](std::int64_t p, std::int64_t begin, std::int64_t end) {
      count_bytes(x + begin, end - begin, counts_of(p));
    });
    for (std::size_t key = 0; key < kByteValues; ++key) {
      std::int64_t count = 0;
      for (std::int64_t p = 0; p < parts_; ++p) count += counts_of(p)[key ^ flip_];
      f(static_cast<std::uint8_t>(key ^ flip_), count);
    }
  }

  void values(const std::uint8_t* x, std::uint8_t* y) {
    for_each_value(x, [&](std::uint8_t byte, std::int64_t count) {
      std::memset(y, byte, static_cast<std::size_t>(count));
      y += count;
    });
  }

  /// Equal ones as they stand. What is counted and what is placed must be the same, whoever writes to x meanwhile.
  void positions(const std::uint8_t* x, std::int64_t* y) {
    if (!copy_) copy_ = std::make_unique_for_overwrite<std::uint8_t[]>(static_cast<std::size_t>(n_));
    for_each_part([&](std::int64_t p, std::int64_t begin, std::int64_t end) {
      std::memcpy(copy_.get() + begin, x + begin, static_cast<std::size_t>(end - begin));
      count_bytes(copy_.get() + begin, end - begin, counts_of(p));
    });
    std::int64_t place = 0;
    for (std::size_t key = 0; key < kByteValues; ++key) {
      for (std::int64_t p = 0; p < parts_; ++p) place += std::exchange(counts_of(p)[key ^ flip_], place);
    }
    for_each_part([&](std::int64_t p, std::int64_t begin, std::int64_t end) {
      std::int64_t* const places = counts_of(p);
      for (std::int64_t i = begin; i < end; ++i) y[places[copy_[static_cast<std::size_t>(i)]]++] = i;
    });
  }

 private:
  std::int64_t* counts_of(std::int64_t part) { return counts_.data() + static_cast<std::size_t>(part) * kByteValues; }

  template <class F>
  void for_each_part(F&& f) {
    parallel_for(0, parts_, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t p = begin; p < end; ++p) f(p, std::min(n_, p * part_), std::min(n_, (p + 1) * part_));
    });
  }

  std::int64_t n_;
  std::int64_t parts_;
  std::int64_t part_;
  std::uint8_t flip_;
  std::vector<std::int64_t> counts_;
  std::unique_ptr<std::uint8_t[]> copy_;
};

/// What turns a byte of T into its key, for an order from the smallest or from the largest.
template <class T>
constexpr std::uint8_t byte_flip(bool descending) {
  static_assert(sizeof(T) == 1);
  const auto sign = static_cast<std::uint8_t>(std::is_signed_v<T> ? 0x80 : 0);
  return static_cast<std::uint8_t>(descending ? ~sign : sign);
}

}  // namespace lamella::sorting
