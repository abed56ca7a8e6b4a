#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "ops/cpu/tables/sorted_rows.h"
#include "ops/simd/keys.h"
#include "ops/simd/vec.h"
#include "ops/sort/radix.h"

namespace lamella::cpu {
namespace {

using sorting::is_nan;
using sorting::Key;
using sorting::key_of;
using sorting::kIsSmallFloat;
using sorting::Ranked;

// If few elements are wanted, the first ones give a limit that few others pass.
constexpr std::int64_t kGroups = 64;
constexpr std::int64_t kGroupSize = 8;
constexpr std::int64_t kMany = 8;  // a share of elements above 1 / kMany counts as many
constexpr std::int64_t kBlock = 32;
constexpr std::int64_t kShortRow = 2 * kBlock;

/// Returns a key by which the wanted elements are the smallest.
template <bool kLargest, class T>
Key<T> rank_key(T value) {
  return kLargest ? static_cast<Key<T>>(~key_of(value)) : key_of(value);
}

/// Computes rank_key() of as many values as a register has lanes.
template <bool kLargest, class T>
simd::Vec<Key<T>> rank_keys(const T* x) {
  using K = Key<T>;
  using V = simd::Vec<K>;
  using Bits = std::conditional_t<sizeof(T) == 1, std::uint8_t, std::conditional_t<sizeof(T) == 2, std::uint16_t, K>>;
  using Narrow [[gnu::vector_size(sizeof(T) * V::size)]] = Bits;
  constexpr K kSign = K{1} << (8 * sizeof(T) - 1);
  constexpr K kAll = kSign | (kSign - 1);
  Narrow narrow;
  std::memcpy(&narrow, x, sizeof narrow);
  const V bits = [&] {
    if constexpr (sizeof(T) == 1) {
      // In two steps, as g++ 12 takes one to four times the width apart into bytes.
      using Wider [[gnu::vector_size(2 * V::size)]] = std::uint16_t;
      return V(__builtin_convertvector(__builtin_convertvector(narrow, Wider), typename V::native_type));
    } else {
      return V(__builtin_convertvector(narrow, typename V::native_type));
    }
  }();
  if constexpr (std::is_floating_point_v<T> || kIsSmallFloat<T>) {
    // Small floats are in the low halves of their keys.
    const V infinity = [] {
      if constexpr (kIsSmallFloat<T>) {
        return K{sorting::kInfinityBits<T>};
      } else {
        return std::bit_cast<K>(std::numeric_limits<T>::infinity());
      }
    }();
    const V magnitude = bits & V(kAll ^ kSign);
    const V ordered = where(magnitude == 0, V(kSign), bits ^ where(bits >= kSign, V(kAll), V(kSign)));
    const V key = where(magnitude > infinity, V(kAll), ordered);
    return kLargest ? ~key : key;
  } else {
    const V key = std::is_signed_v<T> ? bits ^ V(kSign) : bits;
    return kLargest ? ~key : key;
  }
}

/// The k best elements so far, and some more, which are dropped from time to time.
template <class K>
class Best {
 public:
  explicit Best(std::int64_t k) : k_(static_cast<std::size_t>(k)), capacity_(std::max<std::size_t>(2 * k_, 64)) {
    items_.reserve(capacity_);
  }
  /// Sets the limit: later keys above `worst` are ignored.
  void begin_with(K worst) {
    if (worst == std::numeric_limits<K>::max()) return;
    limit_ = static_cast<K>(worst + 1);
    full_ = true;
  }
  /// True once there are more than k, and only keys below the limit count.
  bool full() const { return full_; }
  K limit() const { return limit_; }
  void add(K key, std::int64_t index) {
    items_.push_back(Ranked<K>::make(key, index));
    if (items_.size() == capacity_) shrink();
  }
  void finish(bool sorted, std::int64_t* out) {
    shrink();
    if (sorted) std::sort(items_.begin(), items_.end());
    // There are fewer than k only if another thread changed the elements meanwhile.
    for (std::size_t i = 0; i < k_; ++i) out[i] = i < items_.size() ? items_[i].index() : 0;
  }

 private:
  void shrink() {
    if (items_.size() <= k_) return;
    const auto last = items_.begin() + static_cast<std::ptrdiff_t>(k_ - 1);
    std::nth_element(items_.begin(), last, items_.end());
    limit_ = last->key();
    full_ = true;
    items_.resize(k_);
  }

  std::size_t k_;
  std::size_t capacity_;
  std::vector<Ranked<K>> items_;
  K limit_ = 0;  // worst key of the k best, once full
  bool full_ = false;
};

/// Ways to the keys of a dtype in one order. The selections are compiled for the two widths of keys, and these alone
/// for each dtype and order.
template <class K>
struct KeySource {
  static constexpr std::int64_t kLanes = simd::Vec<K>::size;
  /// Computes the keys of elements [begin, end).
  void (*elements)(const void* x, std::int64_t begin, std::int64_t end, K* keys);
  /// Returns the first of `begin`, begin + kBlock, ... below `end` at which one of kBlock keys is below the limit, and
  /// writes these keys; `end` if there is none.
  std::int64_t (*search)(const void* x, std::int64_t begin, std::int64_t end, K limit, K* keys);
  /// Computes the keys of kLanes rows of n <= kShortRow elements: those of the rows' i-th elements are adjacent.
  void (*short_rows)(const void* x, std::int64_t begin, std::int64_t n, K* keys);
  /// Computes the keys of rows [begin, end) of the columns from c on, kLanes of each row.
  void (*columns)(const Columns& columns, std::int64_t c, std::int64_t begin, std::int64_t end, K* keys);
};

template <bool kLargest, class T>
void keys_of_elements(const void* x, std::int64_t begin, std::int64_t end, Key<T>* keys) {
  using V = simd::Vec<Key<T>>;
  const T* const from = static_cast<const T*>(x) + begin;
  const std::int64_t n = end - begin;
  std::int64_t i = 0;
  for (; i + V::size <= n; i += V::size) rank_keys<kLargest>(from + i).store(keys + i);
  for (; i < n; ++i) keys[i] = rank_key<kLargest>(from[i]);
}

/// Aligned to a cache line, because its loop takes 5 % longer at other addresses.
template <bool kLargest, class T>
[[gnu::aligned(64)]] std::int64_t search_keys(const void* x, std::int64_t begin, std::int64_t end, Key<T> limit,
                                              Key<T>* keys) {
  using V = simd::Vec<Key<T>>;
  constexpr std::int64_t kVectors = kBlock / V::size;
  const T* from = static_cast<const T*>(x) + begin;
  for (std::int64_t at = begin; at < end; at += kBlock, from += kBlock) {
    V block[kVectors];
    for (std::int64_t j = 0; j < kVectors; ++j) block[j] = rank_keys<kLargest>(from + j * V::size);
    auto below = block[0] < V(limit);
    for (std::int64_t j = 1; j < kVectors; ++j) below = below | (block[j] < V(limit));
    if (!any(below)) continue;
    for (std::int64_t j = 0; j < kVectors; ++j) block[j].store(keys + j * V::size);
    return at;
  }
  return end;
}

template <bool kLargest, class T>
void keys_of_short_rows(const void* x, std::int64_t begin, std::int64_t n, Key<T>* keys) {
  using V = simd::Vec<Key<T>>;
  const T* const from = static_cast<const T*>(x) + begin;
  T turned[kShortRow * V::size];  // whole, as a wide load waits for narrow stores just before it
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t r = 0; r < V::size; ++r) turned[i * V::size + r] = from[r * n + i];
  }
  for (std::int64_t i = 0; i < n * V::size; i += V::size) rank_keys<kLargest>(turned + i).store(keys + i);
}

template <bool kLargest, class T>
void keys_of_columns(const Columns& columns, std::int64_t c, std::int64_t begin, std::int64_t end, Key<T>* keys) {
  using V = simd::Vec<Key<T>>;
  const auto [data, n, step, width] = columns;
  const T* row = static_cast<const T*>(data) + begin * step + c;
  // A vector of a few columns extends into the next row; those lanes are ignored.
  std::int64_t i = begin;
  for (; i < end && (n - 1 - i) * step + width - c >= V::size; ++i, row += step, keys += V::size) {
    rank_keys<kLargest>(row).store(keys);
  }
  for (; i < end; ++i, row += step, keys += V::size) {
    T copy[V::size] = {};
    std::copy_n(row, std::min<std::int64_t>(V::size, width - c), copy);
    rank_keys<kLargest>(copy).store(keys);
  }
}

template <class T>
KeySource<Key<T>> key_source(bool largest) {
  if (largest) {
    return {keys_of_elements<true, T>, search_keys<true, T>, keys_of_short_rows<true, T>, keys_of_columns<true, T>};
  }
  return {keys_of_elements<false, T>, search_keys<false, T>, keys_of_short_rows<false, T>, keys_of_columns<false, T>};
}

/// A row by its keys.
template <class K>
struct Row {
  const KeySource<K>& source;
  const void* data;
  std::int64_t start;
  std::int64_t n;

  void keys(std::int64_t begin, std::int64_t end, K* to) const {
    source.elements(data, start + begin, start + end, to);
  }
  /// Calls f(keys, begin, end) for stretches of the row in order.
  template <class F>
  void for_each_stretch(F&& f) const {
    constexpr std::int64_t kStretch = 256;
    K stretch[kStretch];
    for (std::int64_t begin = 0; begin < n; begin += kStretch) {
      const std::int64_t end = std::min(begin + kStretch, n);
      keys(begin, end, stretch);
      f(stretch, begin, end);
    }
  }
  /// Calls offer(key, i) for elements from i on that may be below limit(), which sinks meanwhile. Few are: a block
  /// without any is skipped by a test in registers.
  template <class Limit, class Offer>
  void for_each_below(std::int64_t i, Limit&& limit, Offer&& offer) const {
    K block[kBlock];
    const auto offer_all = [&](std::int64_t begin, std::int64_t count) {
      for (std::int64_t j = 0; j < count; ++j) {
        if (block[j] < limit()) offer(block[j], begin + j);
      }
    };
    const std::int64_t whole = n - (n - i) % kBlock;
    while (i < whole) {
      i = source.search(data, start + i, start + whole, limit(), block) - start;
      if (i < whole) offer_all(i, kBlock);
      i += kBlock;
    }
    if (whole == n) return;
    keys(whole, n, block);
    offer_all(whole, n - whole);
  }
};

/// Returns a key that at least k of the first elements do not exceed: the k-th smallest of the minima of kGroups
/// groups.
template <class K>
K first_limit(const Row<K>& row, std::int64_t k) {
  K least[kGroups];
  std::fill_n(least, kGroups, std::numeric_limits<K>::max());
  for (std::int64_t r = 0; r < kGroupSize; ++r) {
    K keys[kGroups];
    row.keys(r * kGroups, (r + 1) * kGroups, keys);
    for (std::int64_t j = 0; j < kGroups; ++j) least[j] = std::min(least[j], keys[j]);
  }
  std::nth_element(least, least + k - 1, least + kGroups);
  return least[k - 1];
}

/// Selects the k best when k is large, so that few elements can be skipped.
template <class K>
void top_of_many(const Row<K>& row, std::int64_t k, bool sorted, std::int64_t* out) {
  using Item = Ranked<K>;
  const std::int64_t n = row.n;
  sorting::SortBuffer<Item> buffer(n);
  Item* items = buffer.items();
  row.for_each_stretch([items](const K* keys, std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) items[i] = Item::make(keys[i - begin], i);
  });
  // A key with its position in one number is sorted by digits.
  if (sizeof(Item) == 8 && sorted && k > sorting::kShortRow && n < sorting::kLongRow) {
    if (k < n) std::nth_element(items, items + k - 1, items + n);
    const Item limit = k < n ? items[k - 1] : Item::make(std::numeric_limits<K>::max(), n);
    // Each item is written, and kept if it counts, which needs no branch.
    std::int64_t found = 0;
    row.for_each_stretch([&](const K* keys, std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const Item item = Item::make(keys[i - begin], i);
        items[found] = item;
        found += static_cast<std::int64_t>(!(limit < item));
      }
    });
    found = std::min(found, k);
    // Stable: equal keys stay in the order of their positions.
    items = sorting::radix_sort<8>(items, buffer.spare(), found, 8 * sizeof(K));
    for (std::int64_t i = 0; i < k; ++i) out[i] = i < found ? items[i].index() : 0;
    return;
  }
  if (k < n) std::nth_element(items, items + k - 1, items + n);
  if (sorted) std::sort(items, items + k);
  for (std::int64_t i = 0; i < k; ++i) out[i] = items[i].index();
}

template <class K>
void top(const Row<K>& row, std::int64_t k, bool sorted, std::int64_t* out) {
  if (k > row.n / kMany) return top_of_many(row, k, sorted, out);
  Best<K> best(k);
  if (row.n >= kGroups * kGroupSize && k <= kGroups / 4) best.begin_with(first_limit(row, k));
  std::int64_t i = 0;
  while (!best.full() && i < row.n) {
    K keys[kBlock];
    const std::int64_t end = std::min(i + kBlock, row.n);
    row.keys(i, end, keys);
    for (const K* key = keys; i < end; ++i, ++key) {
      if (!best.full() || *key < best.limit()) best.add(*key, i);
    }
  }
  row.for_each_below(i, [&] { return best.limit(); }, [&](K key, std::int64_t at) { best.add(key, at); });
  best.finish(sorted, out);
}

// Largest k for which the best so far are kept as an ordered list.
constexpr std::int64_t kShortList = kMostOfColumns;

template <class R>
R either(bool first, R a, R b) {
  if constexpr (requires { a.at; }) {
    // Selected by a mask, because the compiler would use a branch for two words.
    const std::uint64_t mask = std::uint64_t{0} - static_cast<std::uint64_t>(first);
    const auto either_of = [mask](std::uint64_t p, std::uint64_t q) { return q ^ ((p ^ q) & mask); };
    return {either_of(a.bits, b.bits),
            static_cast<std::int64_t>(either_of(static_cast<std::uint64_t>(a.at), static_cast<std::uint64_t>(b.at)))};
  } else {
    return {first ? a.bits : b.bits};
  }
}

/// Inserts an item, which comes after all others in the row, into the first `count` items of an ordered list and drops
/// the last one, without a branch that would be mispredicted. Of equal keys the earlier one stays ahead.
template <class R>
void insert(R* list, int count, R item) {
  for (int j = count - 1; j > 0; --j) {
    const bool moves = item.bits < list[j - 1].bits;
    list[j] = either(moves, list[j - 1], either(item.bits < list[j].bits, item, list[j]));
  }
  list[0] = either(item.bits < list[0].bits, item, list[0]);
}

/// Selects few elements: every element of a short row passes through the list; of a long row only those that precede
/// its last item.
template <int kCount, class K>
void top_of_row(const Row<K>& row, std::int64_t* out) {
  using R = Ranked<K>;
  const std::int64_t all = row.n <= kShortRow ? row.n : kBlock;
  K keys[kShortRow] = {};
  row.keys(0, all, keys);
  R best[kCount];
  for (int j = 0; j < kCount; ++j) {
    best[j] = R::make(keys[j], j);
    insert(best, j + 1, best[j]);
  }
  for (std::int64_t i = kCount; i < all; ++i) insert(best, kCount, R::make(keys[i], i));
  row.for_each_below(
      all, [&] { return best[kCount - 1].key(); },
      [&](K key, std::int64_t i) { insert(best, kCount, R::make(key, i)); });
  for (int j = 0; j < kCount; ++j) out[j] = best[j].index();
}

/// The best elements so far of a register of columns, in order.
template <int kCount, class K>
struct TopOfLanes {
  using V = simd::Vec<K>;
  V keys[kCount] = {};
  V at[kCount] = {};

  /// Inserts into the first `count` items, as the scalar insert() does.
  void insert(int count, V key, V index) {
    for (int j = count - 1; j > 0; --j) {
      const auto moves = key < keys[j - 1];
      const auto stays = key < keys[j];
      keys[j] = where(moves, keys[j - 1], where(stays, key, keys[j]));
      at[j] = where(moves, at[j - 1], where(stays, index, at[j]));
    }
    const auto leads = key < keys[0];
    keys[0] = where(leads, key, keys[0]);
    at[0] = where(leads, index, at[0]);
  }

  /// Takes in the elements [begin, end) of each lane, whose keys begin at `from`; the first call has begin = 0 and at
  /// least kCount of them.
  void take(const K* from, std::int64_t begin, std::int64_t end) {
    TopOfLanes best = *this;  // in registers
    std::int64_t i = begin;
    if (begin == 0) {
      for (; i < kCount; ++i) {
        best.keys[i] = V::load(from + i * V::size);
        best.at[i] = V(static_cast<K>(i));
        best.insert(static_cast<int>(i) + 1, best.keys[i], best.at[i]);
      }
    }
    for (; i < end; ++i) {
      const V key = V::load(from + (i - begin) * V::size);
      if (any(key < best.keys[kCount - 1])) best.insert(kCount, key, V(static_cast<K>(i)));
    }
    *this = best;
  }
};

/// Selects from short rows by their keys; see KeySource.
template <int kCount, class K>
void top_of_short_rows(const K* keys, std::int64_t n, std::int64_t* out) {
  constexpr std::int64_t kLanes = simd::Vec<K>::size;
  TopOfLanes<kCount, K> best;
  best.take(keys, 0, n);
  K at[kCount][kLanes];
  for (int j = 0; j < kCount; ++j) best.at[j].store(at[j]);
  for (std::int64_t r = 0; r < kLanes; ++r) {
    for (int j = 0; j < kCount; ++j) out[r * kCount + j] = static_cast<std::int64_t>(at[j][r]);
  }
}

template <class K, int kCount = 1>
void top_of_rows(const KeySource<K>& source, const Rows& x, std::int64_t k, bool sorted, std::int64_t* out) {
  std::int64_t r = 0;
  if constexpr (kCount <= kShortList) {
    if (k > kCount) return top_of_rows<K, kCount + 1>(source, x, k, sorted, out);
    constexpr std::int64_t kRows = KeySource<K>::kLanes;
    for (; x.n <= kShortRow && r + kRows <= x.count; r += kRows) {
      K keys[kShortRow * kRows];
      source.short_rows(x.data, r * x.n, x.n, keys);
      top_of_short_rows<kCount>(keys, x.n, out + r * kCount);
    }
  }
  for (; r < x.count; ++r) {
    const Row<K> row{source, x.data, r * x.n, x.n};
    if constexpr (kCount <= kShortList) {
      top_of_row<kCount>(row, out + r * kCount);
    } else {
      top(row, k, sorted, out + r * k);
    }
  }
}

template <class T>
void top_of_all_rows(const Rows& x, std::int64_t k, bool largest, bool sorted, std::int64_t* out) {
  top_of_rows(key_source<T>(largest), x, k, sorted, out);
}

template <class K, int kCount = 1>
void top_of_columns(const KeySource<K>& source, const Columns& x, std::int64_t k, std::int64_t* out) {
  if constexpr (kCount < kMostOfColumns) {
    if (k > kCount) return top_of_columns<K, kCount + 1>(source, x, k, out);
  }
  constexpr std::int64_t kLanes = KeySource<K>::kLanes;
  constexpr std::int64_t kRows = 64;
  static_assert(kRows >= kMostOfColumns);
  for (std::int64_t c = 0; c < x.width; c += kLanes) {
    TopOfLanes<kCount, K> best;
    for (std::int64_t begin = 0; begin < x.n; begin += kRows) {
      K keys[kRows * kLanes];
      const std::int64_t end = std::min(begin + kRows, x.n);
      source.columns(x, c, begin, end, keys);
      best.take(keys, begin, end);
    }
    for (int j = 0; j < kCount; ++j) {
      K at[kLanes];
      best.at[j].store(at);
      std::copy_n(at, std::min(kLanes, x.width - c), out + j * x.step + c);
    }
  }
}

template <class T>
void top_of_all_columns(const Columns& x, std::int64_t k, bool largest, std::int64_t* out) {
  top_of_columns(key_source<T>(largest), x, k, out);
}

template <class T>
std::int64_t nth_of_row(const T* x, std::int64_t n, Rank rank, std::int64_t k, std::vector<Ranked<Key<T>>>& items) {
  if (rank != Rank::Kth) {
    const std::int64_t nans = std::count_if(x, x + n, is_nan<T>);
    if (nans == n || (nans > 0 && rank == Rank::Median)) return std::find_if(x, x + n, is_nan<T>) - x;
    k = (n - nans - 1) / 2;
  }
  for (std::int64_t i = 0; i < n; ++i) items[static_cast<std::size_t>(i)] = Ranked<Key<T>>::make(key_of(x[i]), i);
  const auto place = items.begin() + k;
  std::nth_element(items.begin(), place, items.end());
  return place->index();
}

template <class T>
void nth_of_rows(const Rows& x, Rank rank, std::int64_t k, std::int64_t* out) {
  std::vector<Ranked<Key<T>>> items(static_cast<std::size_t>(x.n));
  const T* row = static_cast<const T*>(x.data);
  for (std::int64_t r = 0; r < x.count; ++r, row += x.n) out[r] = nth_of_row(row, x.n, rank, k, items);
}

template <class... T>
void fill(SortKernels& kernels) {
  ((kernels.top[static_cast<std::size_t>(dtype_of<T>)] = top_of_all_rows<T>,
    kernels.top_down[static_cast<std::size_t>(dtype_of<T>)] = top_of_all_columns<T>,
    kernels.nth[static_cast<std::size_t>(dtype_of<T>)] = nth_of_rows<T>),
   ...);
}

}  // namespace

void fill_sort(SortKernels& kernels) {
  fill<bool, std::int8_t, std::int16_t, std::int32_t, std::int64_t>(kernels);
  fill<std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>(kernels);
  fill<Half, BFloat16, float, double>(kernels);
}

}  // namespace lamella::cpu
