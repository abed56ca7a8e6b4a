#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "engine/runtime/parallel.h"
#include "ops/simd/keys.h"

// Sorts from the least significant digit up. Each pass is stable, and a pass in which all digits agree is skipped, so
// integers of a small range cost little. Short rows are sorted by comparison.

namespace lamella::sorting {

inline std::uint32_t key_bits(std::uint32_t item) { return item; }
inline std::uint64_t key_bits(std::uint64_t item) { return item; }
template <class K>
K key_bits(Ranked<K> item) {
  return item.key();
}
template <class Item>
using KeyBits = decltype(key_bits(std::declval<Item>()));

constexpr std::int64_t kShortRow = 128;
constexpr std::int64_t kLongRow = 4096;         // from this length on wider digits pay
constexpr std::int64_t kParallelRow = 1 << 17;  // from this length on several threads pay

/// Memory for the items of one row, twice.
template <class Item>
class SortBuffer {
 public:
  explicit SortBuffer(std::int64_t n)
      : items_(std::make_unique_for_overwrite<Item[]>(static_cast<std::size_t>(2 * n))), n_(n) {}
  Item* items() { return items_.get(); }
  Item* spare() { return items_.get() + n_; }

 private:
  std::unique_ptr<Item[]> items_;
  std::int64_t n_;
};

/// Sorts the n items at a by their keys, stably, using the memory at b; returns the one that holds the result. `bits`
/// is the number of low bits in which keys differ.
template <int kDigit, class Item>
Item* radix_sort(Item* a, Item* b, std::int64_t n, int bits) {
  constexpr std::size_t kBins = std::size_t{1} << kDigit;
  constexpr int kMostPasses = (static_cast<int>(8 * sizeof(KeyBits<Item>)) + kDigit - 1) / kDigit;
  const int passes = (bits + kDigit - 1) / kDigit;
  const auto digit = [](Item item, int pass) {
    return static_cast<std::size_t>(key_bits(item) >> (pass * kDigit)) & (kBins - 1);
  };
  std::uint32_t counts[kMostPasses][kBins];
  std::memset(counts, 0, sizeof(counts[0]) * static_cast<std::size_t>(passes));
  for (std::int64_t i = 0; i < n; ++i) {
    for (int pass = 0; pass < passes; ++pass) ++counts[pass][digit(a[i], pass)];
  }
  for (int pass = 0; pass < passes; ++pass) {
    std::uint32_t* const places = counts[pass];
    if (places[digit(a[0], pass)] == static_cast<std::uint32_t>(n)) continue;
    std::uint32_t place = 0;
    for (std::size_t bin = 0; bin < kBins; ++bin) place += std::exchange(places[bin], place);
    for (std::int64_t i = 0; i < n; ++i) b[places[digit(a[i], pass)]++] = a[i];
    std::swap(a, b);
  }
  return a;
}

/// Sorts like radix_sort(), with each pass on several threads, each of which counts and moves a part of the items. The
/// position of an item does not depend on the parts.
template <int kDigit, class Item>
Item* parallel_radix_sort(Item* a, Item* b, std::int64_t n, int bits) {
  constexpr std::size_t kBins = std::size_t{1} << kDigit;
  const std::int64_t parts = thread_count();
  const std::int64_t part = (n + parts - 1) / parts;
  std::vector<std::int64_t> counts(static_cast<std::size_t>(parts) * kBins);
  for (int shift = 0; shift < bits; shift += kDigit) {
    const auto digit = [shift](Item item) { return static_cast<std::size_t>(key_bits(item) >> shift) & (kBins - 1); };
    const auto for_each_part = [&](auto&& f) {
      parallel_for(0, parts, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t p = begin; p < end; ++p) {
          f(counts.data() + static_cast<std::size_t>(p) * kBins, std::min(n, p * part), std::min(n, (p + 1) * part));
        }
      });
    };
    for_each_part([&](std::int64_t* own, std::int64_t begin, std::int64_t end) {
      std::fill_n(own, kBins, 0);
      for (std::int64_t i = begin; i < end; ++i) ++own[digit(a[i])];
    });
    std::int64_t place = 0;
    std::int64_t largest = 0;
    for (std::size_t bin = 0; bin < kBins; ++bin) {
      const std::int64_t before = place;
      for (std::size_t p = 0; p < static_cast<std::size_t>(parts); ++p) {
        place += std::exchange(counts[p * kBins + bin], place);
      }
      largest = std::max(largest, place - before);
    }
    if (largest == n) continue;
    for_each_part([&](std::int64_t* own, std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) b[own[digit(a[i])]++] = a[i];
    });
    std::swap(a, b);
  }
  return a;
}

/// Returns the number of bits of a key that one pass over n items uses.
constexpr int digit_width(std::int64_t n) { return n < kLongRow ? 8 : 11; }

/// Sorts n items at a by the low `bits` of their keys, rounded up to whole digits, stably, using the memory at b;
/// returns the one that holds the result. Not inlined, because its tables are large.
template <class Item>
[[gnu::noinline]] Item* sort_by_bits(Item* a, Item* b, std::int64_t n, int bits) {
  if (n < kLongRow) return radix_sort<8>(a, b, n, bits);
  if (n < kParallelRow) return radix_sort<11>(a, b, n, bits);
  return parallel_radix_sort<11>(a, b, n, bits);
}

/// Sorts n items at a, at most kMostRanked, using the memory at b; returns the one that holds the result.
template <class Item>
Item* sort_items(Item* a, Item* b, std::int64_t n) {
  if (n <= kShortRow) {
    std::sort(a, a + n);
    return a;
  }
  KeyBits<Item> differing = 0;
  for (std::int64_t i = 1; i < n; ++i) differing |= key_bits(a[i]) ^ key_bits(a[0]);
  return sort_by_bits(a, b, n, std::bit_width(differing));
}

}  // namespace lamella::sorting
