#include <algorithm>
#include <memory>
#include <utility>

#include "ops/cpu/fft_table.h"
#include "ops/cpu/tile.h"
#include "ops/simd/vec.h"

// Stockham's self-sorting form: a pass reads x[q + s (p + rest k)] and writes y[q + s (radix p + j)], in which s, the
// product of the radices so far times the lanes, is the length of the innermost loop. See C. Van Loan, Computational
// Frameworks for the Fast Fourier Transform (1992), section 1.7.

// Before a loop whose turns do not depend on each other.
#ifdef __clang__
#define LAMELLA_INDEPENDENT_TURNS _Pragma("clang loop vectorize(assume_safety)")
#else
#define LAMELLA_INDEPENDENT_TURNS _Pragma("GCC ivdep")
#endif

namespace lamella::cpu {
namespace {

/// The loops of a pass that are not worth being vectorized over q are over p.
constexpr std::int64_t kShortRun = 8;
constexpr std::int64_t kLanes = 16;
constexpr std::int64_t kLaneBytes = std::int64_t{1} << 20;  // what the buffers of several lanes may take

template <class T>
struct Split {
  T* re = nullptr;
  T* im = nullptr;
};

template <class T>
struct Number {
  T re;
  T im;
  friend Number operator+(Number a, Number b) { return {a.re + b.re, a.im + b.im}; }
  friend Number operator-(Number a, Number b) { return {a.re - b.re, a.im - b.im}; }
  friend Number operator*(T a, Number b) { return {a * b.re, a * b.im}; }
  friend Number operator*(Number a, Number b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
};
/// -i x
template <class T>
Number<T> turn(Number<T> x) {
  return {x.im, -x.re};
}

/// The transform of kRadix numbers, in place.
template <int kRadix, class T>
[[gnu::always_inline]] inline void butterfly(Number<T> (&x)[kRadix]) {
  if constexpr (kRadix == 2) {
    const Number<T> a = x[0];
    x[0] = a + x[1];
    x[1] = a - x[1];
  } else if constexpr (kRadix == 3) {
    constexpr T kSin = static_cast<T>(0.866025403784438646763723170752936183L);
    const Number<T> sum = x[1] + x[2];
    const Number<T> side = kSin * turn(x[1] - x[2]);
    const Number<T> middle = x[0] - T(0.5) * sum;
    x[0] = x[0] + sum;
    x[1] = middle + side;
    x[2] = middle - side;
  } else if constexpr (kRadix == 4) {
    const Number<T> a = x[0] + x[2];
    const Number<T> b = x[0] - x[2];
    const Number<T> c = x[1] + x[3];
    const Number<T> d = turn(x[1] - x[3]);
    x[0] = a + c;
    x[1] = b + d;
    x[2] = a - c;
    x[3] = b - d;
  } else {
    static_assert(kRadix == 5);
    constexpr T kCos1 = static_cast<T>(0.309016994374947424102293417182819059L);
    constexpr T kCos2 = static_cast<T>(-0.809016994374947424102293417182819059L);
    constexpr T kSin1 = static_cast<T>(0.951056516295153572116439333379382143L);
    constexpr T kSin2 = static_cast<T>(0.587785252292473129168705954639072769L);
    const Number<T> s1 = x[1] + x[4];
    const Number<T> s2 = x[2] + x[3];
    const Number<T> d1 = x[1] - x[4];
    const Number<T> d2 = x[2] - x[3];
    const Number<T> a = x[0] + (kCos1 * s1 + kCos2 * s2);
    const Number<T> b = x[0] + (kCos2 * s1 + kCos1 * s2);
    const Number<T> c = turn(kSin1 * d1 + kSin2 * d2);
    const Number<T> d = turn(kSin2 * d1 - kSin1 * d2);
    x[0] = x[0] + (s1 + s2);
    x[1] = a + c;
    x[2] = b + d;
    x[3] = b - d;
    x[4] = a - c;
  }
}

template <int kRadix, class T>
[[gnu::always_inline]] inline void step(const FftPass<T>& pass, const T* __restrict__ from_re,
                                        const T* __restrict__ from_im, T* __restrict__ to_re, T* __restrict__ to_im,
                                        std::int64_t s, std::int64_t p, std::int64_t q) {
  Number<T> x[kRadix];
  for (int k = 0; k < kRadix; ++k) {
    const std::int64_t at = q + s * (p + pass.rest * k);
    x[k] = {from_re[at], from_im[at]};
  }
  butterfly<kRadix>(x);
  to_re[q + s * kRadix * p] = x[0].re;
  to_im[q + s * kRadix * p] = x[0].im;
  for (int j = 1; j < kRadix; ++j) {
    const std::int64_t twiddle = (j - 1) * pass.rest + p;
    const Number<T> y = Number<T>{pass.twiddle_re[twiddle], pass.twiddle_im[twiddle]} * x[j];
    to_re[q + s * (kRadix * p + j)] = y.re;
    to_im[q + s * (kRadix * p + j)] = y.im;
  }
}

template <int kRadix, class T>
void run_pass(const FftPass<T>& pass, Split<T> from, Split<T> to, std::int64_t s) {
  if (s < kShortRun) {
    for (std::int64_t q = 0; q < s; ++q) {
      LAMELLA_INDEPENDENT_TURNS
      for (std::int64_t p = 0; p < pass.rest; ++p) step<kRadix>(pass, from.re, from.im, to.re, to.im, s, p, q);
    }
  } else {
    for (std::int64_t p = 0; p < pass.rest; ++p) {
      LAMELLA_INDEPENDENT_TURNS
      for (std::int64_t q = 0; q < s; ++q) step<kRadix>(pass, from.re, from.im, to.re, to.im, s, p, q);
    }
  }
}

/// Any radix, by the definition.
template <class T>
void run_any_pass(const FftPass<T>& pass, Split<T> from, Split<T> to, std::int64_t s) {
  const std::int64_t radix = pass.radix;
  for (std::int64_t p = 0; p < pass.rest; ++p) {
    for (std::int64_t j = 0; j < radix; ++j) {
      T* const re = to.re + s * (radix * p + j);
      T* const im = to.im + s * (radix * p + j);
      for (std::int64_t k = 0; k < radix; ++k) {
        const T* const x_re = from.re + s * (p + pass.rest * k);
        const T* const x_im = from.im + s * (p + pass.rest * k);
        const Number<T> root{pass.root_re[j * k % radix], pass.root_im[j * k % radix]};
        if (k == 0) {
          std::copy_n(x_re, s, re);
          std::copy_n(x_im, s, im);
          continue;
        }
        LAMELLA_INDEPENDENT_TURNS
        for (std::int64_t q = 0; q < s; ++q) {
          const Number<T> term = root * Number<T>{x_re[q], x_im[q]};
          re[q] += term.re;
          im[q] += term.im;
        }
      }
      if (j == 0) continue;
      const Number<T> twiddle{pass.twiddle_re[(j - 1) * pass.rest + p], pass.twiddle_im[(j - 1) * pass.rest + p]};
      LAMELLA_INDEPENDENT_TURNS
      for (std::int64_t q = 0; q < s; ++q) {
        const Number<T> y = twiddle * Number<T>{re[q], im[q]};
        re[q] = y.re;
        im[q] = y.im;
      }
    }
  }
}

/// How many numbers of workspace transform() wants for each lane.
template <class T>
std::int64_t work_size(const FftPlan<T>& plan) {
  return plan.inner ? 2 * plan.inner->length + work_size(*plan.inner) : 2 * plan.length;
}

/// The transforms of `lanes` lines in `x`, in place or moved to `work`: where they are is returned.
template <class T>
Split<T> transform(const FftPlan<T>& plan, Split<T> x, T* work, std::int64_t lanes) {
  if (!plan.inner) {
    Split<T> y{work, work + plan.length * lanes};
    std::int64_t s = lanes;
    for (std::int64_t i = 0; i < plan.pass_count; ++i) {
      const FftPass<T>& pass = plan.passes[i];
      switch (pass.radix) {
        case 2:
          run_pass<2>(pass, x, y, s);
          break;
        case 3:
          run_pass<3>(pass, x, y, s);
          break;
        case 4:
          run_pass<4>(pass, x, y, s);
          break;
        case 5:
          run_pass<5>(pass, x, y, s);
          break;
        default:
          run_any_pass(pass, x, y, s);
      }
      std::swap(x, y);
      s *= pass.radix;
    }
    return x;
  }
  const std::int64_t size = plan.inner->length * lanes;
  Split<T> padded{work, work + size};
  T* const rest = work + 2 * size;
  for (std::int64_t j = 0; j < plan.length; ++j) {
    const Number<T> chirp{plan.chirp_re[j], plan.chirp_im[j]};
    for (std::int64_t l = j * lanes; l < (j + 1) * lanes; ++l) {
      const Number<T> y = chirp * Number<T>{x.re[l], x.im[l]};
      padded.re[l] = y.re;
      padded.im[l] = y.im;
    }
  }
  std::fill(padded.re + plan.length * lanes, padded.re + size, T(0));
  std::fill(padded.im + plan.length * lanes, padded.im + size, T(0));
  Split<T> spectrum = transform(*plan.inner, padded, rest, lanes);
  // Backwards by exchanging the parts, before and after.
  for (std::int64_t j = 0; j < plan.inner->length; ++j) {
    const Number<T> factor{plan.spectrum_re[j], plan.spectrum_im[j]};
    for (std::int64_t l = j * lanes; l < (j + 1) * lanes; ++l) {
      const Number<T> y = factor * Number<T>{spectrum.re[l], spectrum.im[l]};
      spectrum.re[l] = y.im;
      spectrum.im[l] = y.re;
    }
  }
  T* const other = spectrum.re == padded.re ? rest : work;
  const Split<T> convolved = transform(*plan.inner, spectrum, other, lanes);
  for (std::int64_t k = 0; k < plan.length; ++k) {
    const Number<T> chirp{plan.chirp_re[k], plan.chirp_im[k]};
    for (std::int64_t l = k * lanes; l < (k + 1) * lanes; ++l) {
      const Number<T> y = chirp * Number<T>{convolved.im[l], convolved.re[l]};
      x.re[l] = y.re;
      x.im[l] = y.im;
    }
  }
  return x;
}

/// Where the lines of a group begin on one side, in numbers of that side.
struct Starts {
  std::int64_t at[kLanes];
  Starts(std::int64_t first, std::int64_t count, std::int64_t size, std::int64_t inner) {
    for (std::int64_t l = 0; l < count; ++l) at[l] = (first + l) / inner * size * inner + (first + l) % inner;
  }
};

/// Moves complex numbers between memory and a buffer of lanes, where their parts lie apart: kRead into the buffer, the
/// other way with a factor. Line l begins at data + starts[l].
/// Returns how many of each line were moved.
template <bool kRead, class T>
std::int64_t move_tiles(T* data, const std::int64_t* starts, std::int64_t lanes, std::int64_t size, Split<T> buffer,
                        T scale) {
  // Numbers beside one another: as many of as many lines as make a square tile.
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

/// The same for lines beside one another, from `data` on.
template <bool kRead, class T>
void move_columns(T* data, std::int64_t step, std::int64_t lanes, std::int64_t size, Split<T> buffer, T scale) {
  using V = simd::Vec<T>;
  using Lanes = std::make_index_sequence<V::size>;
  for (std::int64_t j = 0; j < size; ++j) {
    for (std::int64_t l = 0; l < lanes; l += V::size) {
      T* const numbers = data + j * step + 2 * l;
      T* const re = buffer.re + j * lanes + l;
      T* const im = buffer.im + j * lanes + l;
      if constexpr (kRead) {
        const auto low = V::load(numbers).native();
        const auto high = V::load(numbers + V::size).native();
        V(every_second<0>(low, high, Lanes())).store(re);
        V(every_second<1>(low, high, Lanes())).store(im);
      } else {
        const auto a = (V::load(re) * V(scale)).native();
        const auto b = (V::load(im) * V(scale)).native();
        V(interleaved<0>(a, b, Lanes())).store(numbers);
        V(interleaved<V::size / 2>(a, b, Lanes())).store(numbers + V::size);
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
    // A few elements of each line in turn: what they are gathered into stays in the cache.
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

/// One group of up to kLanes lines.
template <class T>
class Group {
 public:
  Group(const FftLines<T>& args, std::int64_t lanes, T* buffer) : args_(args), plan_(*args.plan), lanes_(lanes) {
    const std::int64_t size = plan_.length * lanes;
    // Twice as much as the spectrum of half as many numbers takes.
    x_ = {buffer, buffer + size + lanes};
    work_ = buffer + 2 * (size + lanes);
  }
  static std::int64_t buffer_size(const FftPlan<T>& plan) { return 2 * (plan.length + 1) + work_size(plan) + 2; }

  void run(std::int64_t first, std::int64_t count) {
    // Neither side of a line is empty, and so what is transformed below has been written.
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
  static Split<T> swapped(Split<T> x) { return {x.im, x.re}; }

  /// The numbers [0, size) of each line into lanes; `unit` is the size of what `starts` counts.
  void read(const Starts& starts, std::int64_t count, std::int64_t size, std::int64_t unit, Split<T> x) const {
    // The parts are only read.
    move<true>(const_cast<T*>(args_.from), starts, args_.inner, count, size, unit, x, T(1));
  }
  void write(const Starts& starts, std::int64_t count, std::int64_t size, std::int64_t unit, Split<T> x,
             T scale) const {
    move<false>(args_.to, starts, args_.inner, count, size, unit, x, scale);
  }
  template <bool kRead>
  void move(T* data, const Starts& starts, std::int64_t inner, std::int64_t count, std::int64_t size, std::int64_t unit,
            Split<T> x, T scale) const {
    std::int64_t begins[kLanes];
    for (std::int64_t l = 0; l < count; ++l) begins[l] = unit * starts.at[l];
    std::int64_t done = 0;
    if (count == lanes_ && lanes_ % simd::Vec<T>::size == 0) {
      if (inner == 1) {
        done = move_tiles<kRead>(data, begins, lanes_, size, x, scale);
      } else if (starts.at[count - 1] == starts.at[0] + count - 1) {
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

  bool halved() const { return plan_.length != args_.length; }
  /// Whether coefficient k stands for its conjugate as well.
  bool is_middle(std::int64_t k) const { return k > 0 && 2 * k < args_.length; }
  std::int64_t spectrum_size() const { return args_.length / 2 + 1; }

  void complex_to_complex(std::int64_t first, std::int64_t count) {
    const Starts starts(first, count, args_.length, args_.inner);
    // The other sign: real and imaginary parts change places on both sides.
    const int re = args_.forward ? 0 : 1;
    read(starts, count, args_.length, 2, re == 0 ? x_ : swapped(x_));
    const Split<T> y = transform(plan_, x_, work_, lanes_);
    if (args_.turns) turn_lines(y, first / lanes_);
    const std::int64_t inner = args_.to_inner > 0 ? args_.to_inner : args_.inner;
    move<false>(args_.to, Starts(first, count, args_.length, inner), inner, count, args_.length, 2,
                re == 0 ? y : swapped(y), args_.scale);
  }

  /// See FftTurns.
  void turn_lines(Split<T> y, std::int64_t group) const {
    const FftTurns<T>& turns = *args_.turns;
    for (std::int64_t k = 0; k < args_.length; ++k) {
      const Number<T> coarse{turns.coarse_re[group * k], turns.coarse_im[group * k]};
      LAMELLA_INDEPENDENT_TURNS
      for (std::int64_t i = k * lanes_; i < (k + 1) * lanes_; ++i) {
        const Number<T> turned = coarse * Number<T>{turns.fine_re[i], turns.fine_im[i]} * Number<T>{y.re[i], y.im[i]};
        y.re[i] = turned.re;
        y.im[i] = turned.im;
      }
    }
  }

  void real_to_complex(std::int64_t first, std::int64_t count) {
    const T* const from = args_.from;
    const Starts reads(first, count, args_.length, args_.inner);
    if (halved() && args_.inner == 1) {
      // Neighbors are the two parts of one number.
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
    // Into the buffer that holds no numbers any more.
    T* const rest = z.re == x_.re ? work_ : x_.re;
    const Split<T> y{rest, rest + (plan_.length + 1) * lanes_};
    for (std::int64_t k = 0; k < spectrum_size(); ++k) {
      const T scale = args_.doubled && is_middle(k) ? 2 * args_.scale : args_.scale;
      if (halved()) {
        const std::int64_t h = plan_.length;
        const std::int64_t low = (k == h ? 0 : k) * lanes_;
        const std::int64_t high = (k == 0 ? 0 : h - k) * lanes_;
        const Number<T> twiddle{plan_.half_re[k], plan_.half_im[k]};
        LAMELLA_INDEPENDENT_TURNS
        for (std::int64_t l = 0; l < lanes_; ++l) {
          const Number<T> a{z.re[low + l], z.im[low + l]};
          const Number<T> b{z.re[high + l], -z.im[high + l]};
          const Number<T> sum = T(0.5) * (a + b + twiddle * turn(a - b));
          y.re[k * lanes_ + l] = sum.re * scale;
          y.im[k * lanes_ + l] = sum.im * (sign * scale);
        }
      } else {
        LAMELLA_INDEPENDENT_TURNS
        for (std::int64_t i = k * lanes_; i < (k + 1) * lanes_; ++i) {
          y.re[i] = z.re[i] * scale;
          y.im[i] = z.im[i] * (sign * scale);
        }
      }
    }
    write(writes, count, spectrum_size(), 2, y, T(1));
  }

  void complex_to_real(std::int64_t first, std::int64_t count) {
    const Starts reads(first, count, spectrum_size(), args_.inner);
    const T sign = args_.forward ? T(-1) : T(1);
    const T middle = args_.doubled ? T(1) : T(0.5);
    read(reads, count, spectrum_size(), 2, x_);
    // The coefficients, as those of a real line.
    for (std::int64_t k = 0; k < spectrum_size(); ++k) {
      const bool twice = is_middle(k);
      for (std::int64_t i = k * lanes_; i < (k + 1) * lanes_; ++i) {
        x_.re[i] *= twice ? middle : T(1);
        x_.im[i] = twice ? x_.im[i] * (sign * middle) : T(0);
      }
    }
    const std::int64_t h = plan_.length;
    if (halved()) {
      for (std::int64_t k = 0; 2 * k <= h; ++k) {
        const Number<T> twiddle{plan_.half_re[k], -plan_.half_im[k]};
        for (std::int64_t l = 0; l < lanes_; ++l) {
          const std::int64_t low = k * lanes_ + l;
          const std::int64_t high = (h - k) * lanes_ + l;
          const Number<T> a{x_.re[low], x_.im[low]};
          const Number<T> b{x_.re[high], -x_.im[high]};
          const Number<T> sum = a + b;
          const Number<T> odd = twiddle * (a - b);
          // z[k] = sum + i odd and z[h - k] = conj(sum - i odd), with the parts exchanged for the other sign.
          x_.re[low] = sum.im + odd.re;
          x_.im[low] = sum.re - odd.im;
          if (high == low) continue;
          x_.re[high] = odd.re - sum.im;
          x_.im[high] = sum.re + odd.im;
        }
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

template <class T>
void run_lines(const FftLines<T>& args) {
  const std::int64_t each = Group<T>::buffer_size(*args.plan);
  constexpr std::int64_t kWide = kFftLanes<T>;
  const bool wide = args.end - args.begin > 1 && each * kWide * static_cast<std::int64_t>(sizeof(T)) <= kLaneBytes;
  const std::int64_t lanes = wide ? kWide : 1;
  const std::unique_ptr<T[]> buffer(new T[static_cast<std::size_t>(each * lanes)]);
  Group<T> group(args, lanes, buffer.get());
  for (std::int64_t first = args.begin; first < args.end; first += lanes) {
    group.run(first, std::min(lanes, args.end - first));
  }
}

}  // namespace

void fill_fft(FftTable& table) {
  table.float32.lines = run_lines<float>;
  table.float64.lines = run_lines<double>;
}

}  // namespace lamella::cpu
