#include <algorithm>
#include <cstring>
#include <utility>

#include "ops/cpu/tables/grid_sample.h"
#include "ops/cpu/tile.h"
#include "ops/nn/grid_axis.h"
#include "ops/simd/vec.h"

// The positions of a block are computed once for all channels: the offsets and weights of their neighbors in the image.
// Neighbors in one row of the image are adjacent, so they are read together.

namespace lamella::cpu {
namespace {

using sampling::Axis;
using sampling::Neighbors;
using sampling::neighbors_of;
using sampling::Slope;
using sampling::weighed;

/// Rearranges the neighbors as kCount adjacent elements and returns the first ones; weights of neighbors that were
/// reflected or clamped onto one element are summed. The axis has at least kCount elements.
template <class V, int kCount>
V put_side_by_side(Neighbors<V, kCount>& neighbors, V size) {
  V first = neighbors.element[0];
  for (int k = 1; k < kCount; ++k) first = where(neighbors.element[k] < first, neighbors.element[k], first);
  first = where(first > size - kCount, size - kCount, first);
  Slope<V> weight[kCount];
  for (int s = 0; s < kCount; ++s) {
    weight[s] = {0, 0};
    for (int k = 0; k < kCount; ++k) {
      const auto here = neighbors.element[k] == first + s;
      weight[s].value += where(here, neighbors.weight[k].value, 0);
      weight[s].slope += where(here, neighbors.weight[k].slope, 0);
    }
  }
  std::copy_n(weight, kCount, neighbors.weight);
  return first;
}

/// Interleaves the lanes of kCount vectors and stores them.
template <class V, int kCount>
void store_in_turn(const V (&parts)[kCount], typename V::value_type* to) {
  using Lanes = std::make_index_sequence<V::size>;
  constexpr int kHalf = V::size / 2;
  if constexpr (kCount == 1) {
    parts[0].store(to);
  } else if constexpr (kCount == 2) {
    V(interleaved<0>(parts[0].native(), parts[1].native(), Lanes())).store(to);
    V(interleaved<kHalf>(parts[0].native(), parts[1].native(), Lanes())).store(to + V::size);
  } else {
    const V low[] = {V(interleaved<0>(parts[0].native(), parts[2].native(), Lanes())),
                     V(interleaved<0>(parts[1].native(), parts[3].native(), Lanes()))};
    const V high[] = {V(interleaved<kHalf>(parts[0].native(), parts[2].native(), Lanes())),
                      V(interleaved<kHalf>(parts[1].native(), parts[3].native(), Lanes()))};
    store_in_turn(low, to);
    store_in_turn(high, to + 2 * V::size);
  }
}

/// Returns the sums of every kCount adjacent lanes: the transpose of repeating them.
template <class V, int kCount>
V sums_of(const V (&parts)[kCount]) {
  using Lanes = std::make_index_sequence<V::size>;
  if constexpr (kCount == 1) {
    return parts[0];
  } else if constexpr (kCount == 2) {
    return V(every_second<0>(parts[0].native(), parts[1].native(), Lanes())) +
           V(every_second<1>(parts[0].native(), parts[1].native(), Lanes()));
  } else {
    const V halves[] = {sums_of<V, 2>({parts[0], parts[1]}), sums_of<V, 2>({parts[2], parts[3]})};
    return sums_of(halves);
  }
}

/// The neighbors of the positions of a block: kCount adjacent elements in each of kCount rows.
template <class T, int kCount>
class Block {
 public:
  using V = simd::Vec<T>;
  static constexpr std::int64_t kPlaces = kCount < 4 ? 128 : 64;
  using Numbers = T[kCount][kPlaces * kCount];

  void look_up(const GridArgs<T>& args, std::int64_t begin, std::int64_t count, bool slopes) {
    const Axis<V> height{static_cast<T>(args.height), args.setting.outside, args.setting.align_corners};
    const Axis<V> width{static_cast<T>(args.width), args.setting.outside, args.setting.align_corners};
    count_ = count;
    for (std::int64_t p = 0; p < count; p += V::size) {
      // The grid lists the coordinate of the last axis first.
      const T* const at = args.grid + 2 * (begin + p);
      const int numbers = 2 * static_cast<int>(std::min<std::int64_t>(count - p, V::size));
      const V low = V::load_partial(at, std::min(numbers, V::size), 0);
      const V high = numbers > V::size ? V::load_partial(at + V::size, numbers - V::size, 0) : V(0);
      using Lanes = std::make_index_sequence<V::size>;
      auto columns = neighbors_of<kCount>(V(every_second<0>(low.native(), high.native(), Lanes())), width);
      const auto rows = neighbors_of<kCount>(V(every_second<1>(low.native(), high.native(), Lanes())), height);
      T first[V::size];
      put_side_by_side(columns, width.size).store(first);
      for (int r = 0; r < kCount; ++r) {
        T row[V::size];
        rows.element[r].store(row);
        for (int l = 0; l < V::size; ++l) {
          // Clamped, because large sizes are rounded in T.
          offset_[r][p + l] = std::min(static_cast<std::int64_t>(row[l]), args.height - 1) * args.width +
                              std::min(static_cast<std::int64_t>(first[l]), args.width - kCount);
        }
        const auto put = [&](Numbers& to, auto&& weight_of) {
          V weights[kCount];
          for (int c = 0; c < kCount; ++c) weights[c] = weight_of(rows.weight[r], columns.weight[c]);
          store_in_turn(weights, to[r] + p * kCount);
        };
        put(weight_, [](Slope<V> y, Slope<V> x) { return y.value * x.value; });
        if (!slopes) continue;
        put(by_width_, [](Slope<V> y, Slope<V> x) { return y.value * x.slope; });
        put(by_height_, [](Slope<V> y, Slope<V> x) { return y.slope * x.value; });
      }
    }
  }

  /// Computes y[p] for each position, from an image of one channel.
  void sample(const T* x, T* y) {
    gather(x);
    for_each_group([&](std::int64_t p) { store(sum_of(weight_, gathered_, p), y + p, p); });
  }

  /// Adds to the gradient of the image.
  void add_to_image(T* dx) {
    for (int r = 0; r < kCount; ++r) {
      for_each_vector(
          [&](std::int64_t i) { weighed(V::load(weight_[r] + i), V::load(repeated_ + i)).store(gathered_[r] + i); });
      for (int c = 0; c < kCount; ++c) {
        for (std::int64_t p = 0; p < count_; ++p) dx[offset_[r][p] + c] += gathered_[r][p * kCount + c];
      }
    }
  }

  /// Repeats the gradient of each sample once per neighbor in a row.
  void repeat(const T* dy) {
    for_each_group([&](std::int64_t p) {
      const V given = V::load_partial(dy + p, lanes_from(p), 0);
      V parts[kCount];
      std::fill_n(parts, kCount, given);
      store_in_turn(parts, repeated_ + p * kCount);
    });
  }

  /// Accumulates over all channels the neighbors times the gradients of their samples, from which the gradient of the
  /// grid is computed.
  void clear_sums() { std::fill_n(sums_[0], kCount * kPlaces * kCount, T(0)); }
  void add_to_sums(const T* x) {
    gather(x);
    for (int r = 0; r < kCount; ++r) {
      for_each_vector([&](std::int64_t i) {
        (V::load(sums_[r] + i) + V::load(gathered_[r] + i) * V::load(repeated_ + i)).store(sums_[r] + i);
      });
    }
  }
  void store_grid_gradient(T* dgrid) {
    for_each_group([&](std::int64_t p) {
      const V parts[] = {sum_of(by_width_, sums_, p), sum_of(by_height_, sums_, p)};
      T pairs[2 * V::size];
      store_in_turn(parts, pairs);
      std::copy_n(pairs, 2 * lanes_from(p), dgrid + 2 * p);
    });
  }

 private:
  int lanes_from(std::int64_t p) const { return static_cast<int>(std::min<std::int64_t>(count_ - p, V::size)); }
  /// Calls f for vectors of positions; lanes beyond the last one hold valid neighbors, too.
  template <class F>
  void for_each_group(F&& f) const {
    for (std::int64_t p = 0; p < count_; p += V::size) f(p);
  }
  template <class F>
  void for_each_vector(F&& f) const {
    for_each_group([&](std::int64_t p) {
      for (int j = 0; j < kCount; ++j) f(p * kCount + j * V::size);
    });
  }
  void store(V y, T* to, std::int64_t p) const {
    lanes_from(p) == V::size ? y.store(to) : y.store_partial(to, lanes_from(p));
  }

  void gather(const T* x) {
    const std::int64_t padded = (count_ + V::size - 1) / V::size * V::size;
    for (int r = 0; r < kCount; ++r) {
      T* to = gathered_[r];
      for (std::int64_t p = 0; p < padded; ++p, to += kCount) std::memcpy(to, x + offset_[r][p], kCount * sizeof(T));
    }
  }

  static V sum_of(const Numbers& weights, const Numbers& x, std::int64_t p) {
    V sums[kCount];
    for (int j = 0; j < kCount; ++j) {
      const std::int64_t i = p * kCount + j * V::size;
      sums[j] = weighed(V::load(weights[0] + i), V::load(x[0] + i));
      for (int r = 1; r < kCount; ++r) sums[j] += weighed(V::load(weights[r] + i), V::load(x[r] + i));
    }
    return sums_of(sums);
  }

  std::int64_t count_ = 0;
  std::int64_t offset_[kCount][kPlaces];
  Numbers weight_;
  Numbers by_width_;  // derivatives by the grid's coordinates
  Numbers by_height_;
  Numbers gathered_;
  Numbers sums_;
  T repeated_[kPlaces * kCount];
};

template <class T, int kCount>
void forward(const GridArgs<T>& args) {
  Block<T, kCount> block;
  for (std::int64_t begin = args.first; begin < args.last; begin += block.kPlaces) {
    block.look_up(args, begin, std::min(block.kPlaces, args.last - begin), false);
    for (std::int64_t c = 0; c < args.channels; ++c)
      block.sample(args.x + c * args.height * args.width, args.y + c * args.places + begin);
  }
}

template <class T, int kCount>
void backward(const GridArgs<T>& args) {
  Block<T, kCount> block;
  const std::int64_t plane = args.height * args.width;
  if (args.dx) std::fill_n(args.dx, args.channels * plane, T(0));
  for (std::int64_t begin = 0; begin < args.places; begin += block.kPlaces) {
    block.look_up(args, begin, std::min(block.kPlaces, args.places - begin), args.dgrid != nullptr);
    if (args.dgrid) block.clear_sums();
    for (std::int64_t c = 0; c < args.channels; ++c) {
      block.repeat(args.dy + c * args.places + begin);
      if (args.dx) block.add_to_image(args.dx + c * plane);
      if (args.dgrid) block.add_to_sums(args.x + c * plane);
    }
    if (args.dgrid) block.store_grid_gradient(args.dgrid + 2 * begin);
  }
}

template <class T>
void forward_by_mode(const GridArgs<T>& args) {
  args.setting.mode == GridMode::Linear    ? forward<T, 2>(args)
  : args.setting.mode == GridMode::Nearest ? forward<T, 1>(args)
                                           : forward<T, 4>(args);
}

template <class T>
void backward_by_mode(const GridArgs<T>& args) {
  args.setting.mode == GridMode::Linear    ? backward<T, 2>(args)
  : args.setting.mode == GridMode::Nearest ? backward<T, 1>(args)
                                           : backward<T, 4>(args);
}

}  // namespace

void fill_grid_sample(GridSampleTable& table) {
  table.float32 = {&forward_by_mode<float>, &backward_by_mode<float>};
  table.float64 = {&forward_by_mode<double>, &backward_by_mode<double>};
}

}  // namespace lamella::cpu
