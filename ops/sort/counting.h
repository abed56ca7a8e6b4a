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

// Sorting of elements of 8 bits: the counts of their values determine the positions of all.

namespace lamella::sorting {

inline constexpr std::size_t kByteValues = 256;

/// Counts how often each byte occurs among n, at most kMostRanked. Neighbors are counted in separate tables, because
/// incrementing the same count twice in a row stalls.
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

/// Writes 1 for each of n bytes that is not 0, else 0; returns the number of ones.
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
    ones += static_cast<std::int64_t>((word * kEachByte) >> 56);  // the sum of the word's bytes
  }
  for (; i < n; ++i) ones += bits[i] = x[i] != 0;
  return ones;
}

/// Writes the positions of n bools: first of those equal to `first`, then of the others, each in order. `bits` is
/// memory for a copy, so that the same values are counted and placed even if another thread changes x.
inline void bit_positions(const std::uint8_t* x, std::int64_t n, std::uint8_t first, std::uint8_t* bits,
                          std::int64_t* y) {
  const std::int64_t ones = copy_bits(x, n, bits);
  const std::int64_t all = first ? ones : n - ones;
  std::int64_t before = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    // Selects by a mask, because a branch would be mispredicted half of the time.
    const std::int64_t ahead = bits[i] == first;
    const std::int64_t behind = all + i - before;
    y[behind ^ ((behind ^ before) & -ahead)] = i;
    before += ahead;
  }
}

/// Sorts rows of bytes, on several threads if a row is long. `flip` converts a byte to its key and back by exclusive
/// or.
class ByteSort {
 public:
  ByteSort(std::int64_t n, std::uint8_t flip)
      : n_(n),
        parts_(n < kParallelRow ? 1 : thread_count()),
        part_((n + parts_ - 1) / parts_),
        flip_(flip),
        counts_(static_cast<std::size_t>(parts_) * kByteValues) {}

  /// Calls f(byte, count) for the bytes in order.
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

  /// Writes the positions in order; equal bytes stay in order. Works on a copy, so that the same values are counted and
  /// placed even if another thread changes x.
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

/// Returns the bits to flip to get a byte's key, for ascending or descending order.
template <class T>
constexpr std::uint8_t byte_flip(bool descending) {
  static_assert(sizeof(T) == 1);
  const auto sign = static_cast<std::uint8_t>(std::is_signed_v<T> ? 0x80 : 0);
  return static_cast<std::uint8_t>(descending ? ~sign : sign);
}

}  // namespace lamella::sorting
