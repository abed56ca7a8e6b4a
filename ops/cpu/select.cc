#include <algorithm>
#include <bit>
#include <limits>
#include <vector>

#include "ops/cpu/select_table.h"
#include "ops/simd/vec.h"
#include "ops/sort/keys.h"

namespace lamella::cpu {
namespace {

using sorting::is_nan;
using sorting::Key;
using sorting::key_of;
using sorting::Ranked;

// Where few are asked for, the first elements tell a limit that few others pass.
constexpr std::int64_t kGroups = 64;
constexpr std::int64_t kGroupSize = 8;

/// A key by which those that are asked for are the smallest.
template <bool kLargest, class T>
Key<T> rank_key(T value) {
  return kLargest ? static_cast<Key<T>>(~key_of(value)) : key_of(value);
}

/// The same of n values, n a multiple of what a register has.
template <bool kLargest, class T>
void rank_keys(const T* x, std::int64_t n, Key<T>* keys) {
  using K = Key<T>;
  if constexpr (std::is_floating_point_v<T>) {
    // As in key_of(), of whole registers.
    using V = simd::Vec<K>;
    constexpr K kSign = K{1} << (8 * sizeof(K) - 1);
    constexpr K kAll = std::numeric_limits<K>::max();
    constexpr K kInfinity = std::bit_cast<K>(std::numeric_limits<T>::infinity());
    for (std::int64_t i = 0; i < n; i += V::size) {
      const V bits(reinterpret_cast<typename V::native_type>(simd::Vec<T>::load(x + i).native()));
      const V magnitude = bits & V(kAll ^ kSign);
      const V ordered = where(magnitude == 0, V(kSign), bits ^ where(bits >= kSign, V(kAll), V(kSign)));
      const V key = where(magnitude > kInfinity, V(kAll), ordered);
      (kLargest ? ~key : key).store(keys + i);
    }
  } else {
    for (std::int64_t i = 0; i < n; ++i) keys[i] = rank_key<kLargest>(x[i]);
  }
}

/// Whether one of n keys, as above, is below the limit.
template <class K>
bool any_below(const K* keys, std::int64_t n, K limit) {
  using V = simd::Vec<K>;
  auto below = V::load(keys) < V(limit);
  for (std::int64_t i = V::size; i < n; i += V::size) below = below | (V::load(keys + i) < V(limit));
  return any(below);
}

/// The k best seen so far, and some more, of which those that are not among them are dropped now and then.
template <class K>
class Best {
 public:
  explicit Best(std::int64_t k) : k_(static_cast<std::size_t>(k)), capacity_(std::max<std::size_t>(2 * k_, 64)) {
    items_.reserve(capacity_);
  }
  /// From here on only keys up to this one are asked for.
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
  /// The worst key of the k best, once there are more than k.
  K limit() const { return limit_; }
  bool full() const { return full_; }
  void finish(bool sorted, std::int64_t* out) {
    shrink();
    if (sorted) std::sort(items_.begin(), items_.end());
    // Fewer are there only where somebody wrote to the elements meanwhile.
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

/// A key that at least k of the first elements do not exceed: the k-th smallest of the least ones of kGroups groups.
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

/// At the beginning of a line of the cache wherever the linker puts it: elsewhere its loops take 5 % longer.
template <class T, bool kLargest>
[[gnu::aligned(64)]] void top(const T* x, std::int64_t n, std::int64_t k, bool sorted, std::int64_t* out) {
  using K = Key<T>;
  const auto key = [](T value) { return rank_key<kLargest>(value); };
  Best<K> best(k);
  if (n >= kGroups * kGroupSize && k <= kGroups / 4) best.begin_with(first_limit<T, kLargest>(x, k));
  std::int64_t i = 0;
  for (; i < n && !best.full(); ++i) best.add(key(x[i]), i);
  // Of the rest few elements are among the best: a block without any is passed over in registers.
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

// Of short rows the best so far are a list in order, through which each element passes: without a branch, as nobody
// knows where it stays.
constexpr std::int64_t kShortList = 4;
constexpr std::int64_t kShortRow = 64;

template <bool kLargest, int kCount, class T>
void top_of_short_rows(const T* x, std::int64_t rows, std::int64_t n, std::int64_t* out) {
  using R = Ranked<Key<T>>;
  for (std::int64_t r = 0; r < rows; ++r, x += n, out += kCount) {
    R best[kCount];
    for (int j = 0; j < kCount; ++j) best[j] = R::make(std::numeric_limits<Key<T>>::max(), n);
    for (std::int64_t i = 0; i < n; ++i) {
      R item = R::make(rank_key<kLargest>(x[i]), i);
      for (R& each : best) {
        const bool better = item < each;
        const R worse = better ? each : item;
        each = better ? item : each;
        item = worse;
      }
    }
    for (int j = 0; j < kCount; ++j) out[j] = best[j].index();
  }
}

template <bool kLargest, class T, int kCount = 1>
void top_of_rows(const T* x, std::int64_t rows, std::int64_t n, std::int64_t k, bool sorted, std::int64_t* out) {
  if constexpr (kCount <= kShortList) {
    if (n > kShortRow || k > kShortList) return top_of_rows<kLargest, T, kShortList + 1>(x, rows, n, k, sorted, out);
    if (k > kCount) return top_of_rows<kLargest, T, kCount + 1>(x, rows, n, k, sorted, out);
    return top_of_short_rows<kLargest, kCount>(x, rows, n, out);
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
void fill(SelectKernels& kernels) {
  ((kernels.top[static_cast<std::size_t>(dtype_of<T>)] = top_of_all_rows<T>,
    kernels.nth[static_cast<std::size_t>(dtype_of<T>)] = nth_of_rows<T>),
   ...);
}

}  // namespace

void fill_select(SelectKernels& kernels) {
  fill<bool, std::int8_t, std::int16_t, std::int32_t, std::int64_t>(kernels);
  fill<std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>(kernels);
  fill<Half, BFloat16, float, double>(kernels);
}

}  // namespace lamella::cpu
