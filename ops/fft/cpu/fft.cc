#include <algorithm>

#include "ops/cpu/aligned.h"
#include "ops/cpu/tables/fft.h"
#include "ops/cpu/tile.h"
#include "ops/fft/cpu/line.h"
#include "ops/simd/vec.h"

namespace lamella::cpu {
namespace {

constexpr std::int64_t kLanes = 16;
constexpr std::int64_t kLaneBytes = std::int64_t{1} << 20;  // most bytes of the buffers of several lanes

/// The begins of a group's lines on one side, counted in numbers of that side.
struct Starts {
  std::int64_t at[kLanes] = {};
  Starts(std::int64_t first, std::int64_t count, std::int64_t size, std::int64_t inner) {
    std::int64_t column = first % inner;
    std::int64_t start = first / inner * size * inner;
    for (std::int64_t l = 0; l < count; ++l) {
      at[l] = start + column;
      if (++column < inner) continue;
      column = 0;
      start += size * inner;
    }
  }
};

/// Moves complex numbers between interleaved memory and a buffer of lanes with separate parts: into the buffer if
/// kRead, else out of it with a factor. Line l begins at data + starts[l]. Returns how many numbers of each line were
/// moved.
template <bool kRead, class T>
std::int64_t move_tiles(T* data, const std::int64_t* starts, std::int64_t lanes, std::int64_t size, Split<T> buffer,
                        T scale) {
  // Adjacent numbers: as many of as many lines as form a square tile.
  using V = simd::Vec<T>;
  constexpr std::int64_t kNumbers = V::size / 2;
  std::int64_t j = 0;
  for (; j + kNumbers <= size; j += kNumbers) {
    for (std::int64_t l = 0; l < lanes; l += V::size) {
      simd::Native<T> rows[V::size];
      const auto each_line = [&](auto&& f) {
        for (int k = 0; k < V::size; ++k) f(rows[k], data + starts[l + k] + 2 * j);
      };
      const auto each_part = [&](auto&& f) {
        for (int k = 0; k < V::size; ++k) f(rows[k], (k % 2 == 0 ? buffer.re : buffer.im) + (j + k / 2) * lanes + l);
      };
      if constexpr (kRead) {
        each_line([](simd::Native<T>& row, const T* from) { row = V::load(from).native(); });
        transpose(rows);
        each_part([](simd::Native<T> row, T* to) { V(row).store(to); });
      } else {
        each_part([&](simd::Native<T>& row, const T* from) { row = (V::load(from) * V(scale)).native(); });
        transpose(rows);
        each_line([](simd::Native<T> row, T* to) { V(row).store(to); });
      }
    }
  }
  return j;
}

/// Moves complex numbers of adjacent lines, which begin at `data`, between memory and a buffer of lanes.
template <bool kRead, class T>
void move_columns(T* data, std::int64_t step, std::int64_t lanes, std::int64_t size, Split<T> buffer, T scale) {
  using V = simd::Vec<T>;
  for (std::int64_t j = 0; j < size; ++j) {
    for (std::int64_t l = 0; l < lanes; l += V::size) {
      T* const numbers = data + j * step + 2 * l;
      if constexpr (kRead) {
        store_parts(load_pairs<T>(numbers), buffer, j * lanes + l);
      } else {
        store_pairs(V(scale) * load_number<V>(buffer, j * lanes + l), numbers);
      }
    }
  }
}

/// Calls f(position in the buffer, position in memory) for elements [0, size) of each line, in the order in which
/// memory is contiguous.
template <class F>
[[gnu::always_inline]] inline void walk(const Starts& starts, std::int64_t count, std::int64_t lanes, std::int64_t size,
                                        std::int64_t inner, F&& f) {
  if (inner == 1 || lanes == 1) {
    // Takes a few elements of each line in turn, so that the buffer stays in the cache.
    constexpr std::int64_t kBlock = 16;
    const std::int64_t block = lanes == 1 ? size : kBlock;
    for (std::int64_t begin = 0; begin < size; begin += block) {
      const std::int64_t end = std::min(begin + block, size);
      for (std::int64_t l = 0; l < count; ++l) {
        const std::int64_t start = starts.at[l];
        for (std::int64_t j = begin; j < end; ++j) f(j * lanes + l, start + j * inner, j);
      }
    }
  } else {
    for (std::int64_t j = 0; j < size; ++j) {
      for (std::int64_t l = 0; l < count; ++l) f(j * lanes + l, starts.at[l] + j * inner, j);
    }
  }
}

/// A group of up to kLanes lines.
template <class T>
class Group {
 public:
  Group(const FftLines<T>& args, std::int64_t lanes, T* buffer) : args_(args), plan_(*args.plan), lanes_(lanes) {
    const std::int64_t size = plan_.length * lanes;
    // Twice the size of the spectrum of half as many numbers.
    x_ = {buffer, buffer + size + lanes};
    work_ = buffer + 2 * (size + lanes);
  }
  static std::int64_t buffer_size(const FftPlan<T>& plan) { return 2 * (plan.length + 1) + work_size(plan) + 2; }

  void run(std::int64_t first, std::int64_t count) {
    // Also tells the compiler that no line is empty, so that the data transformed below is initialized.
    if (args_.length < 1 || plan_.length < 1 || spectrum_size() < 1) return;
    if (count < lanes_) {
      const std::int64_t size = (plan_.length + 1) * lanes_;
      std::fill(x_.re, x_.re + size, T(0));
      std::fill(x_.im, x_.im + size, T(0));
    }
    switch (args_.kind) {
      case FftKind::ComplexToComplex:
        complex_to_complex(first, count);
        break;
      case FftKind::RealToComplex:
        real_to_complex(first, count);
        break;
      case FftKind::ComplexToReal:
        complex_to_real(first, count);
        break;
    }
  }

 private:
  /// Reads the numbers [0, size) of each line into lanes; `unit` is the size of the units that `starts` counts.
  void read(const Starts& starts, std::int64_t count, std::int64_t size, std::int64_t unit, Split<T> x) const {
    // Reading does not write through the pointer.
    move<true>(const_cast<T*>(args_.from), starts, args_.inner, count, size, unit, x, T(1));
  }
  void write(const Starts& starts, std::int64_t count, std::int64_t size, std::int64_t unit, Split<T> x,
             T scale) const {
    move<false>(args_.to, starts, args_.inner, count, size, unit, x, scale);
  }
  template <bool kRead>
  void move(T* data, const Starts& starts, std::int64_t inner, std::int64_t count, std::int64_t size, std::int64_t unit,
            Split<T> x, T scale) const {
    std::int64_t begins[kLanes] = {};
    for (std::int64_t l = 0; l < count; ++l) begins[l] = unit * starts.at[l];
    std::int64_t done = 0;
    if (count == lanes_ && lanes_ % simd::Vec<T>::size == 0) {
      if (inner == 1) {
        done = move_tiles<kRead>(data, begins, lanes_, size, x, scale);
      } else if (in_columns(starts, count)) {
        move_columns<kRead>(data + begins[0], 2 * inner, lanes_, size, x, scale);
        done = size;
      }
    }
    const auto one = [&](std::int64_t l, std::int64_t j) {
      T* const number = data + begins[l] + 2 * j * inner;
      const std::int64_t i = j * lanes_ + l;
      if constexpr (kRead) {
        x.re[i] = number[0];
        x.im[i] = number[1];
      } else {
        number[0] = x.re[i] * scale;
        number[1] = x.im[i] * scale;
      }
    };
    if (done > 0 || lanes_ == 1) {
      for (std::int64_t l = 0; l < count; ++l) {
        for (std::int64_t j = done; j < size; ++j) one(l, j);
      }
    } else {
      for (std::int64_t j = 0; j < size; ++j) {
        for (std::int64_t l = 0; l < count; ++l) one(l, j);
      }
    }
  }

  /// True if every lane has a line and these are adjacent.
  bool in_columns(const Starts& starts, std::int64_t count) const {
    return args_.inner > 1 && lanes_ > 1 && count == lanes_ && starts.at[count - 1] == starts.at[0] + count - 1;
  }
  bool halved() const { return plan_.length != args_.length; }
  /// True if coefficient k also stands for its conjugate.
  bool is_middle(std::int64_t k) const { return k > 0 && 2 * k < args_.length; }
  std::int64_t spectrum_size() const { return args_.length / 2 + 1; }

  void complex_to_complex(std::int64_t first, std::int64_t count) {
    const Starts starts(first, count, args_.length, args_.inner);
    if (in_columns(starts, count) && !args_.turns && args_.to_inner == 0 && !plan_.inner && plan_.pass_count > 0) {
      const std::int64_t step = 2 * args_.inner;
      const ToColumns<T> to{args_.to + 2 * starts.at[0], step, args_.scale, args_.forward ? 0 : args_.length};
      const FromColumns<T> from{args_.from + 2 * starts.at[0], step};
      const std::int64_t passes = plan_.pass_count - 1;
      if (passes == 0) return run_last_pass(plan_, from, to, lanes_);
      const Split<T> y{work_, work_ + plan_.length * lanes_};
      run_last_pass(plan_, run_passes(plan_, passes, from, x_, y, lanes_), to, lanes_);
      return;
    }
    // The opposite sign is obtained by exchanging real and imaginary parts on both sides.
    const int re = args_.forward ? 0 : 1;
    read(starts, count, args_.length, 2, re == 0 ? x_ : swapped(x_));
    const Split<T> y = transform(plan_, x_, work_, lanes_);
    if (args_.turns) turn_lines(y, first / lanes_);
    const std::int64_t inner = args_.to_inner > 0 ? args_.to_inner : args_.inner;
    move<false>(args_.to, Starts(first, count, args_.length, inner), inner, count, args_.length, 2,
                re == 0 ? y : swapped(y), args_.scale);
  }

  /// Multiplies the lines by their factors; see FftTurns.
  void turn_lines(Split<T> y, std::int64_t group) const {
    const FftTurns<T>& turns = *args_.turns;
    const Split<const T> fine{turns.fine_re, turns.fine_im};
    for (std::int64_t k = 0; k < args_.length; ++k) {
      const Number<T> coarse{turns.coarse_re[group * k], turns.coarse_im[group * k]};
      for_each_vector<T>(k * lanes_, (k + 1) * lanes_, [&]<class X>(std::int64_t i) {
        const Number<X> factor = Number<X>{X(coarse.re), X(coarse.im)} * load_number<X>(fine, i);
        store_parts(factor * load_number<X>(y, i), y, i);
      });
    }
  }

  void real_to_complex(std::int64_t first, std::int64_t count) {
    const T* const from = args_.from;
    const Starts reads(first, count, args_.length, args_.inner);
    if (halved() && args_.inner == 1) {
      // Neighboring real numbers are read as the two parts of one complex number.
      read(reads, count, plan_.length, 1, x_);
    } else if (halved()) {
      walk(reads, count, lanes_, plan_.length, 2 * args_.inner, [&](std::int64_t i, std::int64_t at, std::int64_t) {
        x_.re[i] = from[at];
        x_.im[i] = from[at + args_.inner];
      });
    } else {
      walk(reads, count, lanes_, args_.length, args_.inner, [&](std::int64_t i, std::int64_t at, std::int64_t) {
        x_.re[i] = from[at];
        x_.im[i] = 0;
      });
    }
    const Split<T> z = transform(plan_, x_, work_, lanes_);
    const Starts writes(first, count, spectrum_size(), args_.inner);
    const T sign = args_.forward ? T(1) : T(-1);
    // Writes into the buffer that is no longer in use.
    T* const rest = z.re == x_.re ? work_ : x_.re;
    const Split<T> y{rest, rest + (plan_.length + 1) * lanes_};
    for (std::int64_t k = 0; k < spectrum_size(); ++k) {
      const T scale = args_.doubled && is_middle(k) ? 2 * args_.scale : args_.scale;
      if (halved()) {
        const std::int64_t h = plan_.length;
        const std::int64_t low = (k == h ? 0 : k) * lanes_;
        const std::int64_t high = (k == 0 ? 0 : h - k) * lanes_;
        const Number<T> twiddle{plan_.half_re[k], plan_.half_im[k]};
        for_each_vector<T>(0, lanes_, [&]<class X>(std::int64_t l) {
          const Number<X> a = load_number<X>(z, low + l);
          const Number<X> b = conjugate(load_number<X>(z, high + l));
          const Number<X> root{X(twiddle.re), X(twiddle.im)};
          const Number<X> sum = X(T(0.5) * scale) * (a + b + root * turn(a - b));
          store_parts(Number<X>{sum.re, X(sign) * sum.im}, y, k * lanes_ + l);
        });
      } else {
        for_each_vector<T>(k * lanes_, (k + 1) * lanes_, [&]<class X>(std::int64_t i) {
          const Number<X> number = load_number<X>(z, i);
          store_parts(Number<X>{X(scale) * number.re, X(sign * scale) * number.im}, y, i);
        });
      }
    }
    write(writes, count, spectrum_size(), 2, y, T(1));
  }

  void complex_to_real(std::int64_t first, std::int64_t count) {
    const Starts reads(first, count, spectrum_size(), args_.inner);
    const T sign = args_.forward ? T(-1) : T(1);
    const T middle = args_.doubled ? T(1) : T(0.5);
    read(reads, count, spectrum_size(), 2, x_);
    // Reads the coefficients of a real line.
    for (std::int64_t k = 0; k < spectrum_size(); ++k) {
      const bool twice = is_middle(k);
      for_each_vector<T>(k * lanes_, (k + 1) * lanes_, [&]<class X>(std::int64_t i) {
        const Number<X> number = load_number<X>(x_, i);
        store_parts(
            twice ? Number<X>{X(middle) * number.re, X(sign * middle) * number.im} : Number<X>{number.re, X(T(0))}, x_,
            i);
      });
    }
    const std::int64_t h = plan_.length;
    if (halved()) {
      for (std::int64_t k = 0; 2 * k <= h; ++k) {
        const Number<T> twiddle{plan_.half_re[k], -plan_.half_im[k]};
        for_each_vector<T>(0, lanes_, [&]<class X>(std::int64_t l) {
          const std::int64_t low = k * lanes_ + l;
          const std::int64_t high = (h - k) * lanes_ + l;
          const Number<X> a = load_number<X>(x_, low);
          const Number<X> b = conjugate(load_number<X>(x_, high));
          const Number<X> sum = a + b;
          const Number<X> odd = Number<X>{X(twiddle.re), X(twiddle.im)} * (a - b);
          // z[k] = sum + i odd and z[h - k] = conj(sum - i odd), with the parts exchanged for the opposite sign.
          store_parts(Number<X>{odd.re - sum.im, sum.re + odd.im}, x_, high);
          store_parts(Number<X>{sum.im + odd.re, sum.re - odd.im}, x_, low);
        });
      }
    } else {
      for (std::int64_t k = 0; k < spectrum_size(); ++k) {
        for (std::int64_t l = 0; l < lanes_; ++l) {
          const std::int64_t low = k * lanes_ + l;
          const std::int64_t high = (h - k) * lanes_ + l;
          if (k > 0) {
            x_.im[high] = x_.re[low];
            x_.re[high] = -x_.im[low];
          }
          std::swap(x_.re[low], x_.im[low]);
        }
      }
    }
    const Split<T> y = transform(plan_, x_, work_, lanes_);
    const Starts writes(first, count, args_.length, args_.inner);
    T* const to = args_.to;
    const T scale = args_.scale;
    if (halved() && args_.inner == 1) {
      write(writes, count, h, 1, swapped(y), scale);
    } else if (halved()) {
      walk(writes, count, lanes_, h, 2 * args_.inner, [&](std::int64_t i, std::int64_t at, std::int64_t) {
        to[at] = y.im[i] * scale;
        to[at + args_.inner] = y.re[i] * scale;
      });
    } else {
      walk(writes, count, lanes_, h, args_.inner,
           [&](std::int64_t i, std::int64_t at, std::int64_t) { to[at] = y.im[i] * scale; });
    }
  }

  const FftLines<T>& args_;
  const FftPlan<T>& plan_;
  const std::int64_t lanes_;
  Split<T> x_;
  T* work_;
};

/// Number of real numbers of a line on each side; complex numbers count twice.
struct LineSizes {
  std::int64_t from;
  std::int64_t to;
};
template <class T>
LineSizes line_sizes(const FftLines<T>& args) {
  const std::int64_t spectrum = 2 * (args.length / 2 + 1);
  switch (args.kind) {
    case FftKind::RealToComplex:
      return {args.length, spectrum};
    case FftKind::ComplexToReal:
      return {spectrum, args.length};
    default:
      return {2 * args.length, 2 * args.length};
  }
}

/// Prefetches the lines of a group: they are read and written a few numbers at a time in turn, which the hardware
/// prefetcher does not detect.
template <bool kWrite, class T>
void prefetch(const T* numbers, std::int64_t count) {
  constexpr std::int64_t kMost = 65536 / sizeof(T);  // most numbers that the caches hold besides the buffers
  constexpr std::int64_t kStep = 64 / sizeof(T);
  for (std::int64_t i = 0; i < std::min(count, kMost); i += kStep) __builtin_prefetch(numbers + i, kWrite ? 1 : 0);
}

template <int kWidth, class T>
void run_by_lines(const FftLines<T>& args) {
  const Lines<T> buffer = make_lines<T>(static_cast<std::size_t>(Line<T, kWidth>::buffer_size(*args.plan)));
  const Line<T, kWidth> line(args, buffer.get());
  for (std::int64_t i = args.begin; i < args.end; i += Line<T, kWidth>::kLines) line.run(i);
}

template <class T>
void run_lines(const FftLines<T>& args) {
  const std::int64_t each = Group<T>::buffer_size(*args.plan);
  constexpr std::int64_t kWide = kFftLanes<T>;
  const bool wide = args.count > 1 && each * kWide * static_cast<std::int64_t>(sizeof(T)) <= kLaneBytes;
  if (by_lines(args)) {
    if (run_if_short(args)) return;
    constexpr int kWidth = simd::Vec<T>::size;
    const std::int64_t width = args.plan->columns ? args.plan->width : kWidth;
    if constexpr (kWidth >= 16) {
      if (width == kWidth / 4) return run_by_lines<kWidth / 4>(args);
    }
    if constexpr (kWidth >= 8) {
      if (width == kWidth / 2) return run_by_lines<kWidth / 2>(args);
    }
    if (!wide || args.plan->columns) return run_by_lines<kWidth>(args);
  }
  const std::int64_t lanes = wide ? kWide : 1;
  const LineSizes sizes = line_sizes(args);
  const Lines<T> buffer = make_lines<T>(static_cast<std::size_t>(each * lanes));
  Group<T> group(args, lanes, buffer.get());
  for (std::int64_t first = args.begin; first < args.end; first += lanes) {
    // The last group is a full one as well, if lines may be computed twice.
    if (!args.turns && args.from != args.to && args.end - args.begin >= lanes)
      first = std::min(first, args.end - lanes);
    const std::int64_t count = std::min(lanes, args.end - first);
    if (args.inner == 1 && wide) {
      const std::int64_t next = first + count;
      prefetch<false>(args.from + next * sizes.from, std::min(lanes, args.end - next) * sizes.from);
      if (args.to_inner <= 1) prefetch<true>(args.to + first * sizes.to, count * sizes.to);
    }
    group.run(first, count);
  }
}

}  // namespace

void fill_fft(FftTable& table) {
  table.float32 = {.lines = run_lines<float>, .width = simd::Vec<float>::size};
  table.float64 = {.lines = run_lines<double>, .width = simd::Vec<double>::size};
}

}  // namespace lamella::cpu
