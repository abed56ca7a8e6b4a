#include <algorithm>
#include <cmath>

#include "ops/cpu/grid_table.h"

// The places of a block are looked up once, for all channels: where their neighbors lie in the image and what each
// weighs.

namespace lamella::cpu {
namespace {

constexpr std::int64_t kBlock = 128;  // places

/// A number, and its derivative by what the grid holds.
template <class T>
struct Slope {
  T value;
  T slope;
};

/// One axis of the image, and how a coordinate there is read.
template <class T>
struct Axis {
  std::int64_t size;
  GridOutside outside;
  bool align_corners;

  /// In elements, from a coordinate between -1 and 1.
  Slope<T> in_elements(T at) const {
    const auto n = static_cast<T>(size);
    if (align_corners) return {(at + 1) * ((n - 1) / 2), (n - 1) / 2};
    return {((at + 1) * n - 1) / 2, n / 2};
  }

  /// Brought to where there are elements, unless what is outside is 0.
  Slope<T> brought_in(Slope<T> at) const {
    if (outside == GridOutside::Zeros) return at;
    if (outside == GridOutside::Reflection) at = reflected(at);
    const auto last = static_cast<T>(size - 1);
    if (at.value <= 0) return {0, 0};
    if (at.value >= last) return {last, 0};
    return at;
  }

  bool holds(T whole) const { return whole >= 0 && whole <= static_cast<T>(size - 1); }
  /// The element at a whole number, or the one nearest to it.
  std::int64_t element(T whole) const {
    if (holds(whole)) return static_cast<std::int64_t>(whole);
    return whole > 0 ? size - 1 : 0;
  }

 private:
  Slope<T> reflected(Slope<T> at) const {
    const T low = align_corners ? T(0) : T(-0.5);
    const T span = align_corners ? static_cast<T>(size - 1) : static_cast<T>(size);
    if (span == 0) return {at.value * 0, 0};
    const T apart = at.value - low;
    const T turns = std::floor(std::abs(apart) / span);
    const T rest = std::abs(apart) - turns * span;
    const T sign = apart > 0 ? T(1) : apart < 0 ? T(-1) : T(0);
    if (std::fmod(turns, T(2)) == 0) return {rest + low, sign * at.slope};
    return {span - rest + low, -sign * at.slope};
  }
};

/// The neighbors of a coordinate along one axis.
template <class T, int kCount>
struct Neighbors {
  std::int64_t element[kCount];
  Slope<T> weight[kCount];  // 0 for what is outside
};

template <class T, int kCount>
Neighbors<T, kCount> neighbors_of(T given, const Axis<T>& axis) {
  Neighbors<T, kCount> result;
  const auto set = [&](int k, T whole, Slope<T> weight) {
    result.element[k] = axis.element(whole);
    result.weight[k] = axis.holds(whole) ? weight : Slope<T>{0, 0};
  };
  const Slope<T> plain = axis.in_elements(given);
  if constexpr (kCount == 1) {
    set(0, std::nearbyint(axis.brought_in(plain).value), {1, 0});
  } else if constexpr (kCount == 2) {
    const Slope<T> at = axis.brought_in(plain);
    const T left = std::floor(at.value);
    const T share = at.value - left;
    set(0, left, {1 - share, -at.slope});
    set(1, left + 1, {share, at.slope});
  } else {
    constexpr T kA = T(-0.75);
    const T left = std::floor(plain.value);
    const T t = plain.value - left;
    const auto near = [](T d, T slope) {
      return Slope<T>{((kA + 2) * d - (kA + 3)) * d * d + 1, (3 * (kA + 2) * d - 2 * (kA + 3)) * d * slope};
    };
    const auto far = [](T d, T slope) {
      return Slope<T>{((kA * d - 5 * kA) * d + 8 * kA) * d - 4 * kA, ((3 * kA * d - 10 * kA) * d + 8 * kA) * slope};
    };
    const Slope<T> weights[] = {far(t + 1, plain.slope), near(t, plain.slope), near(1 - t, -plain.slope),
                                far(2 - t, -plain.slope)};
    // What lies outside is reflected or moved one by one.
    for (int k = 0; k < 4; ++k)
      set(k, std::nearbyint(axis.brought_in({left + static_cast<T>(k - 1), 0}).value), weights[k]);
  }
  return result;
}

/// All neighbors of the places of a block.
template <class T, int kCount>
struct Taps {
  static constexpr int kTaps = kCount * kCount;
  std::int64_t offset[kTaps][kBlock];
  T weight[kTaps][kBlock];
  T by_width[kTaps][kBlock];  // the derivatives by the grid's numbers
  T by_height[kTaps][kBlock];

  void fill(const GridArgs<T>& args, std::int64_t begin, std::int64_t count, bool slopes) {
    const Axis<T> height{args.height, args.outside, args.align_corners};
    const Axis<T> width{args.width, args.outside, args.align_corners};
    for (std::int64_t p = 0; p < count; ++p) {
      // The grid holds the last axis first.
      const auto columns = neighbors_of<T, kCount>(args.grid[2 * (begin + p)], width);
      const auto rows = neighbors_of<T, kCount>(args.grid[2 * (begin + p) + 1], height);
      for (int k = 0; k < kTaps; ++k) {
        const Slope<T> row = rows.weight[k / kCount];
        const Slope<T> column = columns.weight[k % kCount];
        offset[k][p] = rows.element[k / kCount] * args.width + columns.element[k % kCount];
        weight[k][p] = row.value * column.value;
        if (!slopes) continue;
        by_width[k][p] = row.value * column.slope;
        by_height[k][p] = row.slope * column.value;
      }
    }
  }
};

template <class T, int kCount>
void forward(const GridArgs<T>& args) {
  Taps<T, kCount> taps;
  const std::int64_t plane = args.height * args.width;
  for (std::int64_t begin = args.first; begin < args.last; begin += kBlock) {
    const std::int64_t count = std::min(kBlock, args.last - begin);
    taps.fill(args, begin, count, false);
    for (std::int64_t c = 0; c < args.channels; ++c) {
      const T* const x = args.x + c * plane;
      T* const y = args.y + c * args.places + begin;
      for (std::int64_t p = 0; p < count; ++p) {
        T sum = taps.weight[0][p] * x[taps.offset[0][p]];
        for (int k = 1; k < taps.kTaps; ++k) sum += taps.weight[k][p] * x[taps.offset[k][p]];
        y[p] = sum;
      }
    }
  }
}

template <class T, int kCount>
void backward(const GridArgs<T>& args) {
  Taps<T, kCount> taps;
  const std::int64_t plane = args.height * args.width;
  if (args.dx) std::fill_n(args.dx, args.channels * plane, T(0));
  for (std::int64_t begin = 0; begin < args.places; begin += kBlock) {
    const std::int64_t count = std::min(kBlock, args.places - begin);
    taps.fill(args, begin, count, args.dgrid != nullptr);
    T by_width[kBlock] = {};
    T by_height[kBlock] = {};
    for (std::int64_t c = 0; c < args.channels; ++c) {
      const T* const dy = args.dy + c * args.places + begin;
      if (args.dx) {
        T* const dx = args.dx + c * plane;
        for (std::int64_t p = 0; p < count; ++p) {
          for (int k = 0; k < taps.kTaps; ++k) dx[taps.offset[k][p]] += taps.weight[k][p] * dy[p];
        }
      }
      if (!args.dgrid) continue;
      const T* const x = args.x + c * plane;
      for (int k = 0; k < taps.kTaps; ++k) {
        for (std::int64_t p = 0; p < count; ++p) {
          const T part = x[taps.offset[k][p]] * dy[p];
          by_width[p] += part * taps.by_width[k][p];
          by_height[p] += part * taps.by_height[k][p];
        }
      }
    }
    if (!args.dgrid) continue;
    for (std::int64_t p = 0; p < count; ++p) {
      args.dgrid[2 * (begin + p)] = by_width[p];
      args.dgrid[2 * (begin + p) + 1] = by_height[p];
    }
  }
}

template <class T>
void forward_by_mode(const GridArgs<T>& args) {
  args.mode == GridMode::Linear    ? forward<T, 2>(args)
  : args.mode == GridMode::Nearest ? forward<T, 1>(args)
                                   : forward<T, 4>(args);
}

template <class T>
void backward_by_mode(const GridArgs<T>& args) {
  args.mode == GridMode::Linear    ? backward<T, 2>(args)
  : args.mode == GridMode::Nearest ? backward<T, 1>(args)
                                   : backward<T, 4>(args);
}

}  // namespace

void fill_grid(GridTable& table) {
  table.float32 = {&forward_by_mode<float>, &backward_by_mode<float>};
  table.float64 = {&forward_by_mode<double>, &backward_by_mode<double>};
}

}  // namespace lamella::cpu
