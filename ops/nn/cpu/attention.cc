#include <algorithm>
#include <limits>

#include "ops/cpu/tables/attention.h"
#include "ops/simd/vec.h"

namespace lamella::cpu {
namespace {

using simd::Mask;
using simd::Vec;

template <class T>
constexpr T kLowest = -std::numeric_limits<T>::infinity();

/// Calls f(column, lanes) for the vectors of a row.
template <class T, class F>
void for_each_vector(std::int64_t columns, F&& f) {
  constexpr int kLanes = Vec<T>::size;
  std::int64_t i = 0;
  for (; i + kLanes <= columns; i += kLanes) f(i, kLanes);
  if (i < columns) f(i, static_cast<int>(columns - i));
}

template <class T>
Vec<T> load(const T* from, int lanes, T pad = T(0)) {
  return lanes == Vec<T>::size ? Vec<T>::load(from) : Vec<T>::load_partial(from, lanes, pad);
}

template <class T>
void store(T* to, int lanes, Vec<T> value) {
  lanes == Vec<T>::size ? value.store(to) : value.store_partial(to, lanes);
}

/// Returns the number of columns visible to row r.
template <class T>
std::int64_t seen_columns(const AttentionTile<T>& tile, std::int64_t r) {
  return tile.causal ? std::clamp<std::int64_t>(tile.seen + r, 0, tile.columns) : tile.columns;
}

/// Returns the scaled and masked scores of a vector of row r; minus infinity in lanes beyond the row.
template <class T>
Vec<T> score(const AttentionTile<T>& tile, std::int64_t r, std::int64_t i, int lanes) {
  Vec<T> s = load(tile.scores + r * tile.stride + i, lanes) * tile.scale;
  if (tile.bias) s += load(tile.bias + r * tile.mask_stride + i, lanes);
  if (tile.keep) {
    const bool* keep = tile.keep + r * tile.mask_stride + i;
    s = where(lanes == Vec<T>::size ? Mask<T>::load(keep) : Mask<T>::load_partial(keep, lanes, false), s,
              Vec<T>(kLowest<T>));
  }
  if (lanes < Vec<T>::size) {
    T part[Vec<T>::size];
    s.store_partial(part, lanes);
    s = Vec<T>::load_partial(part, lanes, kLowest<T>);
  }
  return s;
}

template <class T>
void softmax(const AttentionTile<T>& tile, T* top, T* total, T* factor) {
  for (std::int64_t r = 0; r < tile.rows; ++r) {
    T* row = tile.scores + r * tile.stride;
    const std::int64_t seen = seen_columns(tile, r);
    std::fill(row + seen, row + tile.columns, T(0));
    Vec<T> largest(kLowest<T>);
    for_each_vector<T>(seen, [&](std::int64_t i, int lanes) {
      const Vec<T> s = score(tile, r, i, lanes);
      store(row + i, lanes, s);
      largest = maximum(largest, s);
    });
    T now = top[r];
    for (int i = 0; i < Vec<T>::size; ++i) now = largest[i] != largest[i] || largest[i] > now ? largest[i] : now;
    if (now == kLowest<T>) {  // nothing is visible yet
      std::fill(row, row + seen, T(0));
      factor[r] = 1;
      continue;
    }
    Vec<T> sums(0);
    for_each_vector<T>(seen, [&](std::int64_t i, int lanes) {
      const Vec<T> p = exp(load(row + i, lanes, kLowest<T>) - now);
      store(row + i, lanes, p);
      sums += p;
    });
    T sum = 0;
    for (int i = 0; i < Vec<T>::size; ++i) sum += sums[i];
    factor[r] = exp(Vec<T>(top[r] - now))[0];
    total[r] = total[r] * factor[r] + sum;
    top[r] = now;
  }
}

template <class T>
void probabilities(const AttentionTile<T>& tile, const T* totals) {
  for (std::int64_t r = 0; r < tile.rows; ++r) {
    T* row = tile.scores + r * tile.stride;
    const std::int64_t seen = seen_columns(tile, r);
    std::fill(row + seen, row + tile.columns, T(0));
    const T top = totals[2 * r];
    const T log_total = totals[2 * r + 1];
    for_each_vector<T>(seen, [&](std::int64_t i, int lanes) {
      store(row + i, lanes, exp(score(tile, r, i, lanes) - top - log_total));
    });
  }
}

template <class T>
void score_gradients(T* p, const T* dp, const T* delta, T scale, std::int64_t rows, std::int64_t columns,
                     std::int64_t stride) {
  for (std::int64_t r = 0; r < rows; ++r) {
    for_each_vector<T>(columns, [&](std::int64_t i, int lanes) {
      const std::int64_t at = r * stride + i;
      store(p + at, lanes, load(p + at, lanes) * (load(dp + at, lanes) - delta[r]) * scale);
    });
  }
}

template <class T>
void accumulate(T* to, const T* part, const T* factor, std::int64_t rows, std::int64_t columns) {
  for (std::int64_t r = 0; r < rows; ++r, to += columns, part += columns) {
    const T by = factor ? factor[r] : T(1);
    for (std::int64_t i = 0; i < columns; ++i) to[i] = to[i] * by + part[i];
  }
}

}  // namespace

void fill_attention(AttentionTable& table) {
  table.float32 = {&softmax<float>, &probabilities<float>, &score_gradients<float>, &accumulate<float>};
  table.float64 = {&softmax<double>, &probabilities<double>, &score_gradients<double>, &accumulate<double>};
}

}  // namespace lamella::cpu
