#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "ops/cpu/tables/pool.h"
#include "ops/nn/cpu/pool_halving.h"
#include "ops/nn/pool_windows.h"
#include "ops/reduce/cpu/loops.h"
#include "ops/simd/vec.h"

namespace lamella::cpu {
namespace {

/// The type to compute in: float for half and bfloat16.
template <class T>
struct Wide {
  using type = T;
};
template <>
struct Wide<Half> {
  using type = float;
};
template <>
struct Wide<BFloat16> {
  using type = float;
};

template <class A>
constexpr bool is_nan(A value) {
  return value != value;
}

template <class A>
constexpr A lowest() {
  return std::numeric_limits<A>::has_infinity ? -std::numeric_limits<A>::infinity() : std::numeric_limits<A>::lowest();
}

std::int64_t plane_in(const PoolArgs& args) { return args.axes[0].in * args.axes[1].in * args.axes[2].in; }
std::int64_t plane_out(const PoolArgs& args) { return args.axes[0].out * args.axes[1].out * args.axes[2].out; }

/// Calls f(first output, d, h) for each row of outputs of a plane.
template <class F>
void for_each_row(const PoolArgs& args, F&& f) {
  const auto& [depth, height, width] = args.axes;
  for (std::int64_t d = 0; d < depth.out; ++d) {
    for (std::int64_t h = 0; h < height.out; ++h) f((d * height.out + h) * width.out, d, h);
  }
}

/// Calls f(offset) for each row of inputs in the windows of output row (d, h).
template <class F>
void for_each_input_row(const PoolArgs& args, std::int64_t d, std::int64_t h, F&& f) {
  const auto& [depth, height, width] = args.axes;
  for (std::int64_t id = depth.begin[d]; id < depth.end[d]; id += depth.step) {
    for (std::int64_t ih = height.begin[h]; ih < height.end[h]; ih += height.step) f((id * height.in + ih) * width.in);
  }
}

/// True if the windows of output row (d, h) cover a single row of inputs.
bool is_one_row(const PoolArgs& args, std::int64_t d, std::int64_t h) {
  const auto one = [](const PoolAxis& axis, std::int64_t o) {
    return axis.begin[o] < axis.end[o] && axis.begin[o] + axis.step >= axis.end[o];
  };
  return one(args.axes[0], d) && one(args.axes[1], h);
}

/// Returns the rows of inputs in the windows of output row (d, h), joined to one: the row itself if it is the only one,
/// otherwise `to`, which is initialized with `none`.
template <class A, class T, class Join>
const A* joined_rows(const PoolArgs& args, std::int64_t d, std::int64_t h, const T* x, A none, A* to,
                     const Join& join) {
  const std::int64_t width = args.axes[2].in;
  if constexpr (std::is_same_v<A, T>) {
    if (is_one_row(args, d, h)) {
      const A* row = nullptr;
      for_each_input_row(args, d, h, [&](std::int64_t offset) { row = x + offset; });
      return row;
    }
  }
  std::fill_n(to, width, none);
  for_each_input_row(args, d, h, [&](std::int64_t offset) {
    for (std::int64_t i = 0; i < width; ++i) to[i] = join(to[i], static_cast<A>(x[offset + i]));
  });
  return to;
}

/// Outputs [first, last) along an axis whose windows hold `taps` elements each and begin `stride` apart: usually all
/// except those at the ends.
struct Uniform {
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::int64_t stride = 0;
  std::int64_t taps = 0;
};

Uniform uniform_windows(const PoolAxis& axis) {
  const auto taps = [&](std::int64_t o) { return (axis.end[o] - axis.begin[o] + axis.step - 1) / axis.step; };
  const std::int64_t middle = axis.out / 2;
  Uniform run{middle, middle + 1, 0, taps(middle)};
  if (middle + 1 < axis.out) run.stride = axis.begin[middle + 1] - axis.begin[middle];
  const auto fits = [&](std::int64_t o) {
    return taps(o) == run.taps && axis.begin[o] == axis.begin[middle] + (o - middle) * run.stride;
  };
  while (run.first > 0 && fits(run.first - 1)) --run.first;
  while (run.last < axis.out && fits(run.last)) ++run.last;
  // A few large windows are processed one after the other.
  if (run.last - run.first < run.taps) run.last = run.first;
  return run;
}

/// Calls f(output, input) for one tap of all windows of the run; the usual strides are constants, so that the loop is
/// vectorized.
template <class F>
void for_each_in_tap(const Uniform& run, std::int64_t first_input, F&& f) {
  const auto loop = [&](auto stride) {
    for (std::int64_t o = 0; o < run.last - run.first; ++o) f(run.first + o, first_input + o * stride);
  };
  if (run.stride == 1) {
    loop(std::integral_constant<std::int64_t, 1>());
  } else if (run.stride == 2) {
    loop(std::integral_constant<std::int64_t, 2>());
  } else if (run.stride == 3) {
    loop(std::integral_constant<std::int64_t, 3>());
  } else {
    loop(run.stride);
  }
}

/// Returns the larger value, or NaN if one is NaN, without a branch, which would often be mispredicted.
template <class A>
A larger(A found, A value) {
  const bool takes = (value > found) | (value != value);
  return takes ? value : found;
}

// Each row of outputs first joins the rows of its windows, all columns at once in a loop that the compiler vectorizes,
// and then the columns of each window.

/// Returns the largest of every `step`-th element in [begin, end).
template <class A>
A largest_of(const A* x, std::int64_t begin, std::int64_t end, std::int64_t step) {
  A largest = lowest<A>();
  std::int64_t i = begin;
  if constexpr (std::is_floating_point_v<A>) {
    using V = simd::Vec<A>;
    if (step == 1 && end - begin >= V::size) {
      V lanes = V::load(x + begin);
      for (i += V::size; i + V::size <= end; i += V::size) lanes = maximum(lanes, V::load(x + i));
      for (int k = 0; k < V::size; ++k) largest = larger(largest, lanes[k]);
    }
  }
  for (; i < end; i += step) largest = larger(largest, x[i]);
  return largest;
}

/// Finds the largest column of a window and its position, the first one of several. Not inlined, because its loop needs
/// the registers.
template <class A>
[[gnu::noinline]] void place_of_largest(const A* top, const std::int64_t* row, std::int64_t begin, std::int64_t end,
                                        std::int64_t step, A& found, std::int64_t& place) {
  const A largest = largest_of(top, begin, end, step);
  const bool largest_is_nan = is_nan(largest);
  constexpr std::int64_t kNowhere = std::numeric_limits<std::int64_t>::max();
  std::int64_t at = kNowhere;
  for (std::int64_t i = begin; i < end; i += step) {
    const bool nan = is_nan(top[i]);
    const bool equal = (top[i] == largest) | (nan & largest_is_nan);
    const std::int64_t here = (equal & (row[i] >= 0)) ? row[i] + i : kNowhere;
    at = here < at ? here : at;
  }
  found = largest;
  place = at == kNowhere ? -1 : at;
}

/// The uniform windows of one row of outputs: the largest elements so far, and the taps that they came from.
template <class A>
struct Largest {
  using V = simd::Vec<A>;

  std::vector<A> values;
  std::vector<A> found;
  std::vector<A> taps;
  /// Position in the plane of the first window's element for each tap.
  std::vector<std::int64_t> origins;

  explicit Largest(std::int64_t windows) : values(room(windows)), found(values.size()), taps(values.size()) {}
  static std::size_t room(std::int64_t windows) {
    return static_cast<std::size_t>((windows + V::size - 1) / V::size * V::size);
  }

  /// Loads the elements of as many windows as there are lanes.
  template <class Stride>
  static V load(const A* x, Stride stride) {
    if constexpr (std::is_same_v<Stride, std::integral_constant<std::int64_t, 1>>) {
      return V::load(x);
    } else if constexpr (std::is_same_v<Stride, std::integral_constant<std::int64_t, 2>>) {
      const auto low = V::load(x).native();
      const auto high = V::load(x + V::size).native();
      return [&]<int... I>(std::integer_sequence<int, I...>) {
        return V(__builtin_shufflevector(low, high, (2 * I)...));
      }(std::make_integer_sequence<int, V::size>());
    } else {
      return V::load_strided(x, stride);
    }
  }

  /// Takes one element of each window, `stride` apart. If n is 0, vectors may read beyond the last window; otherwise
  /// only the n windows are read.
  template <class Stride>
  void take(const A* x, Stride stride, std::int64_t n) {
    const V tap(static_cast<A>(origins.size()));
    const bool first = origins.empty();
    const auto compare = [&](std::size_t o, V value) {
      const V best = V::load(found.data() + o);
      const auto takes = (value > best) | ((value != value) & (best == best));
      (first ? value : where(takes, value, best)).store(found.data() + o);
      (first ? tap : where(takes, tap, V::load(taps.data() + o))).store(taps.data() + o);
    };
    if (n == 0) {
      for (std::size_t o = 0; o < found.size(); o += V::size) {
        compare(o, load(x + static_cast<std::int64_t>(o) * stride, stride));
      }
      return;
    }
    for (std::int64_t o = 0; o < n; ++o) values[static_cast<std::size_t>(o)] = x[o * stride];
    for (std::size_t o = 0; o < found.size(); o += V::size) compare(o, V::load(values.data() + o));
  }
};

/// Computes a single window.
template <class A>
void scan_window(const PoolArgs& args, const A* x, std::int64_t d, std::int64_t h, std::int64_t o, A& found,
                 std::int64_t& place) {
  const PoolAxis& width = args.axes[2];
  found = lowest<A>();
  place = -1;
  for_each_input_row(args, d, h, [&](std::int64_t offset) {
    for (std::int64_t i = width.begin[o]; i < width.end[o]; i += width.step) {
      const A value = x[offset + i];
      if (place >= 0 && !(value > found) && (!is_nan(value) || is_nan(found))) continue;
      found = value;
      place = offset + i;
    }
  });
}

/// Computes a row of outputs and their positions if `run` is not empty: each element of the windows in turn, for all
/// windows at once. `x` is the plane; `left` elements from there on may be read.
template <class A>
void max_row(const PoolArgs& args, const Uniform& run, const A* x, std::int64_t left, std::int64_t d, std::int64_t h,
             Largest<A>& largest, A* y, std::int64_t* place) {
  const PoolAxis& width = args.axes[2];
  const std::int64_t n = run.last - run.first;
  const auto whole = static_cast<std::int64_t>(largest.found.size());
  largest.origins.clear();
  const auto take = [&](std::int64_t from, auto stride) {
    // Lanes beyond the last window read elements behind it; their results are ignored.
    largest.take(x + from, stride, from + whole * stride <= left ? 0 : n);
    largest.origins.push_back(from);
  };
  for_each_input_row(args, d, h, [&](std::int64_t offset) {
    for (std::int64_t k = 0; k < run.taps; ++k) {
      const std::int64_t from = offset + width.begin[run.first] + k * width.step;
      if (run.stride == 1) {
        take(from, std::integral_constant<std::int64_t, 1>());
      } else if (run.stride == 2) {
        take(from, std::integral_constant<std::int64_t, 2>());
      } else {
        take(from, run.stride);
      }
    }
  });
  const bool empty = largest.origins.empty();
  for (std::int64_t o = 0; o < n; ++o) {
    const auto at = static_cast<std::size_t>(o);
    y[run.first + o] = empty ? lowest<A>() : largest.found[at];
    place[run.first + o] = empty ? -1 : largest.origins[static_cast<std::size_t>(largest.taps[at])] + o * run.stride;
  }
  for (std::int64_t o = 0; o < run.first; ++o) scan_window(args, x, d, h, o, y[o], place[o]);
  for (std::int64_t o = run.last; o < width.out; ++o) scan_window(args, x, d, h, o, y[o], place[o]);
}

/// Finds the largest of the elements begin, begin + 1 .. of a row and its position, or the first NaN.
template <class A>
void first_largest(const A* x, std::int64_t begin, std::int64_t end, A& found, std::int64_t& place) {
  found = largest_of(x, begin, end, 1);
  place = -1;
  if (begin >= end) return;
  const A largest = found;
  std::int64_t i = begin;
  if constexpr (std::is_floating_point_v<A>) {
    using V = simd::Vec<A>;
    const auto has_it = [&](V v) { return is_nan(largest) ? (v != v).native() : (v == V(largest)).native(); };
    while (i + V::size <= end && !simd::any_lane(has_it(V::load(x + i)))) i += V::size;
  }
  // Bounded in case another thread changes the elements meanwhile.
  while (i + 1 < end && !(x[i] == largest || is_nan(x[i]))) ++i;
  found = x[i];
  place = i;
}

template <class A>
void max_kernel(const PoolArgs& args) {
  const PoolAxis& width = args.axes[2];
  std::vector<A> best(static_cast<std::size_t>(width.in));
  std::vector<A> results(static_cast<std::size_t>(width.out));
  std::vector<std::int64_t> rows(args.places ? static_cast<std::size_t>(width.in) : 0);
  const Uniform run = uniform_windows(width);
  Largest<std::conditional_t<std::is_floating_point_v<A>, A, float>> largest(run.last - run.first);
  const bool squares = std::is_floating_point_v<A> && are_squares(args);
  for (std::int64_t plane = args.first; plane < args.last; ++plane) {
    const A* const x = static_cast<const A*>(args.from) + plane * plane_in(args);
    A* const y = static_cast<A*>(args.to) + plane * plane_out(args);
    if constexpr (std::is_floating_point_v<A>) {
      if (squares) {
        halve_by_maxima(args, x, (args.last - plane) * plane_in(args), y,
                        args.places ? args.places + plane * plane_out(args) : nullptr);
        continue;
      }
    }
    for_each_row(args, [&](std::int64_t at, std::int64_t d, std::int64_t h) {
      A* const top = best.data();
      if (!args.places) {
        const A* const seen = joined_rows(args, d, h, x, lowest<A>(), top, [](A a, A b) { return larger(a, b); });
        A* const found = results.data();
        std::fill(results.begin(), results.end(), lowest<A>());
        const auto one = [&](std::int64_t o) { found[o] = largest_of(seen, width.begin[o], width.end[o], width.step); };
        for (std::int64_t o = 0; o < run.first; ++o) one(o);
        for (std::int64_t k = 0; k < run.taps; ++k) {
          for_each_in_tap(run, width.begin[run.first] + k * width.step,
                          [&](std::int64_t o, std::int64_t i) { found[o] = larger(found[o], seen[i]); });
        }
        for (std::int64_t o = run.last; o < width.out; ++o) one(o);
        for (std::int64_t o = 0; o < width.out; ++o) y[at + o] = found[o];
        return;
      }
      std::int64_t* const places = args.places + plane * plane_out(args);
      std::int64_t* const place = places + at;
      if constexpr (std::is_floating_point_v<A>) {
        if (run.first < run.last) {
          max_row(args, run, x, (args.last - plane) * plane_in(args), d, h, largest, y + at, place);
          return;
        }
      }
      // Large windows of one row need no table of positions per column.
      if (run.first == run.last && width.step == 1 && is_one_row(args, d, h)) {
        for_each_input_row(args, d, h, [&](std::int64_t offset) {
          for (std::int64_t o = 0; o < width.out; ++o) {
            first_largest(x + offset, width.begin[o], width.end[o], y[at + o], place[o]);
            if (place[o] >= 0) place[o] += offset;
          }
        });
        return;
      }
      std::fill(best.begin(), best.end(), lowest<A>());
      std::int64_t* const row = rows.data();
      std::fill(rows.begin(), rows.end(), -1);
      for_each_input_row(args, d, h, [&](std::int64_t offset) {
        for (std::int64_t i = 0; i < width.in; ++i) {
          const A value = x[offset + i];
          const bool better = value > top[i] || row[i] < 0 || (is_nan(value) && !is_nan(top[i]));
          top[i] = better ? value : top[i];
          row[i] = better ? offset : row[i];
        }
      });
      A* const found = results.data();
      for (std::int64_t o = 0; o < width.out; ++o) {
        place_of_largest(top, row, width.begin[o], width.end[o], width.step, found[o], place[o]);
      }
      for (std::int64_t o = 0; o < width.out; ++o) y[at + o] = found[o];
    });
  }
}

/// Returns a number as an A in the same order, or back: unsigned integers of 64 bits with the highest bit flipped.
template <class To, class From>
To in_order(From x) {
  if constexpr (std::is_same_v<From, std::uint64_t> || std::is_same_v<To, std::uint64_t>) {
    return static_cast<To>(static_cast<std::uint64_t>(x) ^ std::uint64_t{1} << 63);
  } else if constexpr (std::is_integral_v<To> && sizeof(To) < sizeof(From)) {
    return static_cast<To>(std::max(x, From{lowest<To>()}));  // an empty window's
  } else {
    return static_cast<To>(x);
  }
}

/// Computes the maxima of planes that are converted to A, so that few types have kernels of their own.
template <class T, class A>
void max_of_converted(const PoolArgs& args) {
  std::vector<A> x(static_cast<std::size_t>(plane_in(args)));
  std::vector<A> y(static_cast<std::size_t>(plane_out(args)));
  for (std::int64_t plane = args.first; plane < args.last; ++plane) {
    const T* const from = static_cast<const T*>(args.from) + plane * plane_in(args);
    std::transform(from, from + plane_in(args), x.begin(), in_order<A, T>);
    PoolArgs one = args;
    one.from = x.data();
    one.to = y.data();
    if (args.places) one.places = args.places + plane * plane_out(args);
    one.first = 0;
    one.last = 1;
    max_kernel<A>(one);
    std::transform(y.begin(), y.end(), static_cast<T*>(args.to) + plane * plane_out(args), in_order<T, A>);
  }
}

/// Returns the sum of the elements [begin, end).
template <class A>
A sum_of(const A* x, std::int64_t begin, std::int64_t end) {
  A sum = 0;
  std::int64_t i = begin + reduce_vectors<Added, 1>(
                               end - begin, &sum, [&](std::int64_t at) { return simd::Vec<A>::load(x + begin + at); });
  for (; i < end; ++i) sum += x[i];
  return sum;
}

template <class T>
void sum_kernel(const PoolArgs& args) {
  using A = typename Wide<T>::type;
  const PoolAxis& width = args.axes[2];
  std::vector<A> columns(static_cast<std::size_t>(width.in));
  const bool squares = std::is_floating_point_v<T> && are_squares(args);
  for (std::int64_t plane = args.first; plane < args.last; ++plane) {
    const T* const x = static_cast<const T*>(args.from) + plane * plane_in(args);
    T* const y = static_cast<T*>(args.to) + plane * plane_out(args);
    if constexpr (std::is_floating_point_v<T>) {
      if (squares) {
        halve_by_sums(args, x, (args.last - plane) * plane_in(args), y);
        continue;
      }
    }
    for_each_row(args, [&](std::int64_t at, std::int64_t d, std::int64_t h) {
      const A* const seen =
          joined_rows(args, d, h, x, A(0), columns.data(), [](A a, A b) { return static_cast<A>(a + b); });
      const double scale = args.axes[0].scale[d] * args.axes[1].scale[h];
      for (std::int64_t o = 0; o < width.out; ++o) {
        const A sum = sum_of(seen, width.begin[o], width.end[o]);
        y[at + o] = static_cast<T>(scaled_sum(sum, scale * width.scale[o]));
      }
    });
  }
}

/// Writes for each input of a row the sum of part(o) over the windows o that contain it.
template <class A, class Part>
void spread_row(const PoolAxis& width, A* to, const Part& part) {
  // The begins and ends of the windows never decrease.
  std::int64_t done = 0;
  for (std::int64_t o = 0; o < width.out; ++o) {
    const std::int64_t begin = width.begin[o];
    const std::int64_t end = width.end[o];
    const A value = part(o);
    for (; done < begin; ++done) to[done] = 0;
    for (std::int64_t i = begin; i < std::min(done, end); ++i) to[i] += value;
    for (; done < end; ++done) to[done] = value;
  }
  for (; done < width.in; ++done) to[done] = 0;
}

template <class T>
void spread_kernel(const PoolArgs& args) {
  using A = typename Wide<T>::type;
  const auto& [depth, height, width] = args.axes;
  const std::int64_t in = plane_in(args);
  const auto part_of = [&](const T* dy, std::int64_t d, std::int64_t h) {
    return [&, dy, scale = depth.scale[d] * height.scale[h]](std::int64_t o) {
      return static_cast<A>(dy[o]) * static_cast<A>(scale * width.scale[o]);
    };
  };
  if constexpr (std::is_floating_point_v<T>) {
    if (are_squares(args)) {
      for (std::int64_t plane = args.first; plane < args.last; ++plane) {
        spread_over_squares(args, static_cast<const T*>(args.from) + plane * plane_out(args),
                            static_cast<T*>(args.to) + plane * in);
      }
      return;
    }
  }
  if constexpr (std::is_same_v<A, T>) {
    if (in == width.in && plane_out(args) == width.out && is_one_row(args, 0, 0)) {
      for (std::int64_t plane = args.first; plane < args.last; ++plane) {
        spread_row(width, static_cast<T*>(args.to) + plane * in,
                   part_of(static_cast<const T*>(args.from) + plane * width.out, 0, 0));
      }
      return;
    }
  }
  std::vector<A> columns(static_cast<std::size_t>(width.in));
  std::vector<A> total(static_cast<std::size_t>(in));
  for (std::int64_t plane = args.first; plane < args.last; ++plane) {
    const T* const dy = static_cast<const T*>(args.from) + plane * plane_out(args);
    T* const dx = static_cast<T*>(args.to) + plane * in;
    std::fill(total.begin(), total.end(), A(0));
    for_each_row(args, [&](std::int64_t at, std::int64_t d, std::int64_t h) {
      A* const parts = columns.data();
      spread_row(width, parts, part_of(dy + at, d, h));
      for_each_input_row(args, d, h, [&](std::int64_t offset) {
        A* const to = total.data() + offset;
        for (std::int64_t i = 0; i < width.in; ++i) to[i] += parts[i];
      });
    });
    for (std::int64_t i = 0; i < in; ++i) dx[i] = static_cast<T>(total[static_cast<std::size_t>(i)]);
  }
}

template <class T>
void pick_kernel(const PoolArgs& args) {
  const std::int64_t count = plane_out(args);
  for (std::int64_t plane = args.first; plane < args.last; ++plane) {
    const T* const x = static_cast<const T*>(args.from) + plane * plane_in(args);
    T* const y = static_cast<T*>(args.to) + plane * count;
    const std::int64_t* const places = args.places + plane * count;
    for (std::int64_t i = 0; i < count; ++i) y[i] = places[i] < 0 ? T(0.0F) : x[places[i]];
  }
}

template <class T>
void put_kernel(const PoolArgs& args) {
  using A = typename Wide<T>::type;
  const std::int64_t count = plane_out(args);
  constexpr bool kInPlace = std::is_same_v<A, T>;
  std::vector<A> sums(kInPlace ? 0 : static_cast<std::size_t>(plane_in(args)));
  for (std::int64_t plane = args.first; plane < args.last; ++plane) {
    const T* const dy = static_cast<const T*>(args.from) + plane * count;
    T* const dx = static_cast<T*>(args.to) + plane * plane_in(args);
    const std::int64_t* const places = args.places + plane * count;
    A* total = nullptr;
    if constexpr (kInPlace) {
      total = dx;
    } else {
      total = sums.data();
    }
    std::fill_n(total, plane_in(args), A(0));
    for (std::int64_t i = 0; i < count; ++i) {
      if (places[i] >= 0) total[places[i]] += static_cast<A>(dy[i]);
    }
    if constexpr (!kInPlace) std::transform(sums.begin(), sums.end(), dx, [](A sum) { return static_cast<T>(sum); });
  }
}

/// Sets the kernels of an A and of types that are converted to it.
template <class A, class... T>
void fill_max(PoolKernels& kernels) {
  kernels.max[static_cast<std::size_t>(dtype_of<A>)] = max_kernel<A>;
  ((kernels.max[static_cast<std::size_t>(dtype_of<T>)] = max_of_converted<T, A>), ...);
}

template <class... T>
void fill_linear(PoolKernels& kernels) {
  ((kernels.sum[static_cast<std::size_t>(dtype_of<T>)] = sum_kernel<T>,
    kernels.spread[static_cast<std::size_t>(dtype_of<T>)] = spread_kernel<T>,
    kernels.pick[static_cast<std::size_t>(dtype_of<T>)] = pick_kernel<T>,
    kernels.put[static_cast<std::size_t>(dtype_of<T>)] = put_kernel<T>),
   ...);
}

}  // namespace

void fill_pool(PoolKernels& kernels) {
  fill_max<std::int32_t, std::int8_t, std::int16_t, std::uint8_t, std::uint16_t>(kernels);
  fill_max<std::int64_t, std::uint32_t, std::uint64_t>(kernels);
  fill_max<float, Half, BFloat16>(kernels);
  fill_max<double>(kernels);
  fill_linear<Half, BFloat16, float, double>(kernels);
  kernels.sum[static_cast<std::size_t>(DType::Int64)] = sum_kernel<std::int64_t>;
}

}  // namespace lamella::cpu
