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

/// Returns a key by which the wanted elements are the smallest.
template <bool kLargest, class T>
Key<T> rank_key(T value) {
  return kLargest ? static_cast<Key<T>>(~key_of(value)) : key_of(value);
}

/// Computes rank_key() of n values, n a multiple of the lanes of a register.
template <bool kLargest, class T>
void rank_keys(const T* x, std::int64_t n, Key<T>* keys) {
  using K = Key<T>;
  if constexpr (std::is_floating_point_v<T> || kIsSmallFloat<T>) {
    // Computes key_of() on whole registers; small floats are in the low halves of their keys.
    using V = simd::Vec<K>;
    constexpr K kSign = K{1} << (8 * sizeof(T) - 1);
    constexpr K kAll = kSign | (kSign - 1);
    const V infinity = [] {
      if constexpr (kIsSmallFloat<T>) {
        return K{sorting::kInfinityBits<T>};
      } else {
        return std::bit_cast<K>(std::numeric_limits<T>::infinity());
      }
    }();
    const auto bits_at = [x](std::int64_t i) {
      using Bits = std::conditional_t<kIsSmallFloat<T>, std::uint16_t, K>;
      using Narrow [[gnu::vector_size(sizeof(T) * V::size)]] = Bits;
      Narrow bits;
      std::memcpy(&bits, x + i, sizeof bits);
      return V(__builtin_convertvector(bits, typename V::native_type));
    };
    for (std::int64_t i = 0; i < n; i += V::size) {
      const V bits = bits_at(i);
      const V magnitude = bits & V(kAll ^ kSign);
      const V ordered = where(magnitude == 0, V(kSign), bits ^ where(bits >= kSign, V(kAll), V(kSign)));
      const V key = where(magnitude > infinity, V(kAll), ordered);
      (kLargest ? ~key : key).store(keys + i);
    }
  } else {
    for (std::int64_t i = 0; i < n; ++i) keys[i] = rank_key<kLargest>(x[i]);
  }
}

/// True if one of n keys, as rank_keys() writes them, is below the limit.
template <class K>
bool any_below(const K* keys, std::int64_t n, K limit) {
  using V = simd::Vec<K>;
  auto below = V::load(keys) < V(limit);
  for (std::int64_t i = V::size; i < n; i += V::size) below = below | (V::load(keys + i) < V(limit));
  return any(below);
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
  bool beats(K key) const { return !full_ || key < limit_; }
  void add(K key, std::int64_t index) {
    items_.push_back(Ranked<K>::make(key, index));
    if (items_.size() == capacity_) shrink();
  }
  /// Returns the worst key of the k best, once there are more than k.
  K limit() const { return limit_; }
  bool full() const { return full_; }
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
  K limit_ = 0;
  bool full_ = false;
};

/// Returns a key that at least k of the first elements do not exceed: the k-th smallest of the minima of kGroups
/// groups.
template <class T, bool kLargest>
Key<T> first_limit(const T* x, std::int64_t k) {
  using K = Key<T>;
  K least[kGroups];
  std::fill_n(least, kGroups, std::numeric_limits<K>::max());
  for (std::int64_t row = 0; row < kGroupSize; ++row) {
    K keys[kGroups];
    rank_keys<kLargest>(x + row * kGroups, kGroups, keys);
    for (std::int64_t j = 0; j < kGroups; ++j) least[j] = std::min(least[j], keys[j]);
  }
  std::nth_element(least, least + k - 1, least + kGroups);
  return least[k - 1];
}

/// Selects the k best when k is large, so that few elements can be skipped.
template <class T, bool kLargest>
void top_of_many(const T* x, std::int64_t n, std::int64_t k, bool sorted, std::int64_t* out) {
  using Item = Ranked<Key<T>>;
  sorting::SortBuffer<Item> buffer(n);
  Item* items = buffer.items();
  for (std::int64_t i = 0; i < n; ++i) items[i] = Item::make(rank_key<kLargest>(x[i]), i);
  // A key with its position in one number is sorted by digits.
  if (sizeof(Item) == 8 && sorted && k > sorting::kShortRow && n < sorting::kLongRow) {
    if (k < n) std::nth_element(items, items + k - 1, items + n);
    const Item limit = k < n ? items[k - 1] : Item::make(std::numeric_limits<Key<T>>::max(), n);
    // Each item is written, and kept if it counts, which needs no branch.
    std::int64_t found = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      const Item item = Item::make(rank_key<kLargest>(x[i]), i);
      items[found] = item;
      found += static_cast<std::int64_t>(!(limit < item));
    }
    found = std::min(found, k);
    // Stable: equal keys stay in the order of their positions.
    items = sorting::radix_sort<8>(items, buffer.spare(), found, 8 * sizeof(Key<T>));
    for (std::int64_t i = 0; i < k; ++i) out[i] = i < found ? items[i].index() : 0;
    return;
  }
  if (k < n) std::nth_element(items, items + k - 1, items + n);
  if (sorted) std::sort(items, items + k);
  for (std::int64_t i = 0; i < k; ++i) out[i] = items[i].index();
}

/// Aligned to a cache line, because its loops take 5 % longer at other addresses.
template <class T, bool kLargest>
[[gnu::aligned(64)]] void top(const T* x, std::int64_t n, std::int64_t k, bool sorted, std::int64_t* out) {
  using K = Key<T>;
  if (k > n / kMany) return top_of_many<T, kLargest>(x, n, k, sorted, out);
  const auto key = [](T value) { return rank_key<kLargest>(value); };
  Best<K> best(k);
  if (n >= kGroups * kGroupSize && k <= kGroups / 4) best.begin_with(first_limit<T, kLargest>(x, k));
  std::int64_t i = 0;
  for (; i < n && !best.full(); ++i) best.add(key(x[i]), i);
  // Few of the remaining elements are among the best: a block without any is skipped by a test in registers.
  constexpr std::int64_t kBlock = 32;
  for (; i + kBlock <= n; i += kBlock) {
    K keys[kBlock];
    rank_keys<kLargest>(x + i, kBlock, keys);
    if (!any_below(keys, kBlock, best.limit())) continue;
    for (std::int64_t j = 0; j < kBlock; ++j) {
      if (best.beats(keys[j])) best.add(keys[j], i + j);
    }
  }
  for (; i < n; ++i) {
    if (best.beats(key(x[i]))) best.add(key(x[i]), i);
  }
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

constexpr std::int64_t kBlock = 32;
constexpr std::int64_t kShortRow = 2 * kBlock;

/// Every element of a short row passes through the list; of a long row only those that precede its last item.
template <bool kLargest, int kCount, class T>
void top_of_row(const T* x, std::int64_t n, std::int64_t* out) {
  using K = Key<T>;
  using R = Ranked<K>;
  const auto item = [x](std::int64_t i) { return R::make(rank_key<kLargest>(x[i]), i); };
  R best[kCount];
  for (int j = 0; j < kCount; ++j) {
    best[j] = item(j);
    insert(best, j + 1, best[j]);
  }
  std::int64_t i = kCount;
  for (const std::int64_t end = n <= kShortRow ? n : kBlock; i < end; ++i) insert(best, kCount, item(i));
  for (; i + kBlock <= n; i += kBlock) {
    K keys[kBlock];
    rank_keys<kLargest>(x + i, kBlock, keys);
    K limit = best[kCount - 1].key();
    if (!any_below(keys, kBlock, limit)) continue;
    for (std::int64_t j = 0; j < kBlock; ++j) {
      if (keys[j] >= limit) continue;
      insert(best, kCount, R::make(keys[j], i + j));
      limit = best[kCount - 1].key();
    }
  }
  for (; i < n; ++i) {
    if (const R last = item(i); last.key() < best[kCount - 1].key()) insert(best, kCount, last);
  }
  for (int j = 0; j < kCount; ++j) out[j] = best[j].index();
}

/// The best elements so far of a register of columns, in order.
template <int kCount, class K>
struct TopOfLanes {
  using V = simd::Vec<K>;
  V keys[kCount];
  V at[kCount];

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
};

/// Finds the positions of the best of n elements in each lane; key_of(i) returns the keys of the i-th elements.
template <int kCount, class K, class KeyOf>
TopOfLanes<kCount, K> top_of_lanes(std::int64_t n, KeyOf&& key_of) {
  using V = simd::Vec<K>;
  TopOfLanes<kCount, K> best;
  for (int j = 0; j < kCount; ++j) {
    best.keys[j] = key_of(j);
    best.at[j] = V(static_cast<K>(j));
    best.insert(j + 1, best.keys[j], best.at[j]);
  }
  for (std::int64_t i = kCount; i < n; ++i) {
    const V key = key_of(i);
    if (any(key < best.keys[kCount - 1])) best.insert(kCount, key, V(static_cast<K>(i)));
  }
  return best;
}

/// Selects from as many short rows, of at least one element, as a register has lanes.
template <bool kLargest, int kCount, class T>
void top_of_short_rows(const T* x, std::int64_t n, std::int64_t* out) {
  using K = Key<T>;
  using V = simd::Vec<K>;
  T turned[kShortRow * V::size];
  std::int64_t i = 0;
  do {
    for (std::int64_t r = 0; r < V::size; ++r) turned[i * V::size + r] = x[r * n + i];
  } while (++i < n);
  const auto best = top_of_lanes<kCount, K>(n, [&](std::int64_t row) {
    K keys[V::size];
    rank_keys<kLargest>(turned + row * V::size, V::size, keys);
    return V::load(keys);
  });
  K at[kCount][V::size];
  for (int j = 0; j < kCount; ++j) best.at[j].store(at[j]);
  for (std::int64_t r = 0; r < V::size; ++r) {
    for (int j = 0; j < kCount; ++j) out[r * kCount + j] = static_cast<std::int64_t>(at[j][r]);
  }
}

template <bool kLargest, class T, int kCount = 1>
void top_of_rows(const T* x, std::int64_t rows, std::int64_t n, std::int64_t k, bool sorted, std::int64_t* out) {
  if constexpr (kCount <= kShortList) {
    if (k > kCount) return top_of_rows<kLargest, T, kCount + 1>(x, rows, n, k, sorted, out);
    constexpr std::int64_t kRows = simd::Vec<Key<T>>::size;
    std::int64_t r = 0;
    for (; n <= kShortRow && r + kRows <= rows; r += kRows)
      top_of_short_rows<kLargest, kCount>(x + r * n, n, out + r * kCount);
    for (; r < rows; ++r) top_of_row<kLargest, kCount>(x + r * n, n, out + r * kCount);
  } else {
    for (std::int64_t r = 0; r < rows; ++r) top<T, kLargest>(x + r * n, n, k, sorted, out + r * k);
  }
}

template <class T>
void top_of_all_rows(const Rows& x, std::int64_t k, bool largest, bool sorted, std::int64_t* out) {
  const T* const data = static_cast<const T*>(x.data);
  return largest ? top_of_rows<true>(data, x.count, x.n, k, sorted, out)
                 : top_of_rows<false>(data, x.count, x.n, k, sorted, out);
}

template <bool kLargest, int kCount, class T>
void top_of_columns(const T* x, const Columns& columns, std::int64_t* out) {
  using K = Key<T>;
  using V = simd::Vec<K>;
  const auto [data, n, step, width] = columns;
  for (std::int64_t c = 0; c < width; c += V::size) {
    const std::int64_t lanes = std::min<std::int64_t>(V::size, width - c);
    const auto key_of_row = [&, step = step, n = n, width = width](std::int64_t i) {
      K keys[V::size];
      const T* const row = x + i * step + c;
      // A vector of a few columns extends into the next row; those lanes are ignored.
      if ((n - 1 - i) * step + width - c >= V::size) {
        rank_keys<kLargest>(row, V::size, keys);
      } else {
        T copy[V::size] = {};
        std::copy_n(row, lanes, copy);
        rank_keys<kLargest>(copy, V::size, keys);
      }
      return V::load(keys);
    };
    const auto best = top_of_lanes<kCount, K>(n, key_of_row);
    for (int j = 0; j < kCount; ++j) {
      K at[V::size];
      best.at[j].store(at);
      std::copy_n(at, lanes, out + j * step + c);
    }
  }
}

template <bool kLargest, class T, int kCount = 1>
void top_of_columns(const Columns& x, std::int64_t k, std::int64_t* out) {
  if constexpr (kCount < kMostOfColumns) {
    if (k > kCount) return top_of_columns<kLargest, T, kCount + 1>(x, k, out);
  }
  top_of_columns<kLargest, kCount>(static_cast<const T*>(x.data), x, out);
}

template <class T>
void top_of_all_columns(const Columns& x, std::int64_t k, bool largest, std::int64_t* out) {
  return largest ? top_of_columns<true, T>(x, k, out) : top_of_columns<false, T>(x, k, out);
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
