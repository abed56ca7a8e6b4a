#pragma once

#include <utility>

#include "ops/cpu/tile.h"
#include "ops/fft/cpu/passes.h"

// Transforms of lines with contiguous numbers, with vectors along one line or a few of them: these stay in the L1 cache
// where one line per lane would not.

namespace lamella::cpu {
inline namespace LM_SIMD_ISA {

template <class V, std::size_t... I>
V reversed(V a, std::index_sequence<I...>) {
  return __builtin_shufflevector(a, a, (static_cast<int>(sizeof...(I)) - 1 - static_cast<int>(I))...);
}
/// Loads numbers in reverse order, starting with the one at `at`.
template <class X, class T>
Number<X> load_back(Split<T> from, std::int64_t at) {
  if constexpr (std::is_same_v<X, T>) {
    return {from.re[at], from.im[at]};
  } else {
    using Lanes = std::make_index_sequence<X::size>;
    const Number<X> x = load_number<X>(from, at - X::size + 1);
    return {X(reversed(x.re.native(), Lanes())), X(reversed(x.im.native(), Lanes()))};
  }
}
/// Loads interleaved numbers in reverse order, starting with the one at `at`.
template <class X, class T>
Number<X> load_pairs_back(const T* from, std::int64_t at) {
  if constexpr (std::is_same_v<X, T>) {
    return {from[2 * at], from[2 * at + 1]};
  } else {
    using Lanes = std::make_index_sequence<X::size>;
    const Number<X> x = load_pairs(from + 2 * (at - X::size + 1));
    return {X(reversed(x.re.native(), Lanes())), X(reversed(x.im.native(), Lanes()))};
  }
}

/// Calls f.operator()<X>(i) as for_each_vector() does, but if there are enough numbers for a vector, the last vector
/// overlaps the one before it.
template <class T, class F>
[[gnu::always_inline]] inline void for_each_overlapping(std::int64_t begin, std::int64_t end, F&& f) {
  using V = simd::Vec<T>;
  if (end - begin < V::size) {
    for_each_vector<T>(begin, end, f);
    return;
  }
  for (std::int64_t i = begin; i < end; i += V::size) f.template operator()<V>(std::min(i, end - V::size));
}

/// Computes the coefficients of a real line from those of its pairs read as complex numbers: load.operator()<X>(k)
/// returns numbers k, k + 1, .. of these, back.operator()<X>(k) numbers k, k - 1, ...
template <class T, class Load, class Back>
[[gnu::always_inline]] inline void separate(const FftLines<T>& args, Load&& load, Back&& back, T* to) {
  const std::int64_t n = args.plan->length;
  const Split<const T> roots{args.plan->half_re, args.plan->half_im};
  const T sign = args.forward ? T(1) : T(-1);
  // Half of the sum of a, which is number k, and b, the conjugate of number n - k, plus half of their difference,
  // turned.
  const auto put = [&]<class X>(std::int64_t k, Number<X> a, Number<X> b, T scale) {
    const Number<X> sum = X(T(0.5) * scale) * (a + b + load_number<X>(roots, k) * turn(a - b));
    store_pairs(Number<X>{sum.re, X(sign) * sum.im}, to + 2 * k);
  };
  const Number<T> first = load.template operator()<T>(0);
  put(0, first, conjugate(first), args.scale);
  const T middle = args.doubled ? 2 * args.scale : args.scale;
  for_each_overlapping<T>(1, n, [&]<class X>(std::int64_t k) {
    put(k, load.template operator()<X>(k), conjugate(back.template operator()<X>(n - k)), middle);
  });
  put(n, first, conjugate(first), args.scale);
}

/// True if lines can be transformed one by one: complex lines, or real ones of an even length, which count as half as
/// many complex numbers.
template <class T>
bool by_lines(const FftLines<T>& args) {
  const bool is_complex = args.kind == FftKind::ComplexToComplex;
  return args.inner == 1 && args.to_inner <= 1 && args.turns == nullptr &&
         (is_complex || args.plan->length != args.length);
}

/// Transforms kLines lines at once, kWidth columns of each in a vector.
template <class T, int kWidth>
class Line {
 public:
  static constexpr int kLines = simd::Vec<T>::size / kWidth;

  Line(const FftLines<T>& args, T* buffer) : args_(args), plan_(*args.plan) {
    const std::int64_t part = part_size(plan_);
    x_ = {buffer, buffer + part};
    z_ = {buffer + 2 * part, buffer + 3 * part};
    work_ = {buffer + 4 * part, buffer + 5 * part};
  }
  static std::int64_t buffer_size(const FftPlan<T>& plan) {
    return 4 * part_size(plan) + std::max(2 * part_size(plan), work_size(plan));
  }

  /// Transforms the lines from `line` on; the last line replaces those behind `end`.
  void run(std::int64_t line) const {
    const std::int64_t n = plan_.length;
    if (n < 1)
      return;  // also tells the compiler that no line is empty, so that the data transformed below is initialized
    const bool from_real = args_.kind == FftKind::RealToComplex;
    const bool to_real = args_.kind == FftKind::ComplexToReal;
    const T* from[kLines];
    T* to[kLines];
    for (int l = 0; l < kLines; ++l) {
      const std::int64_t at = std::min(line + l, args_.end - 1);
      from[l] = args_.from + 2 * (to_real ? n + 1 : n) * at;
      to[l] = args_.to + 2 * (from_real ? n + 1 : n) * at;
    }
    if (from_real) return real_to_complex(from, to);
    if (to_real) return complex_to_real(from, to);
    complex_to_complex(from, to);
  }

 private:
  using V = simd::Vec<T>;

  /// Returns a size in whole cache lines, plus one, so that the parts are not a power of two apart.
  static std::int64_t part_size(const FftPlan<T>& plan) {
    constexpr std::int64_t kNumbers = 64 / sizeof(T);
    return (kLines * (plan.length + 1) + kNumbers - 1) / kNumbers * kNumbers + kNumbers;
  }
  Split<T> line_of(Split<T> x, int l) const { return x + l * (plan_.length + 1); }

  FromPairs<T, kWidth> pairs(const T* const* from, T sign) const {
    FromPairs<T, kWidth> result;
    std::copy_n(from, kLines, result.starts);
    result.sign = sign;
    return result;
  }

  /// Calls f(l, k, numbers k, k + 1, .. of line l); some numbers are passed twice.
  template <class From, class F>
  [[gnu::always_inline]] void transform_lines(const From& from, F&& f) const {
    if constexpr (kLines == 1) {
      if (!plan_.columns) {
        for_each_vector<T>(0, plan_.length,
                           [&]<class X>(std::int64_t i) { store_parts(load_number<X>(from, i), x_, i); });
        const Split<T> y = transform(plan_, x_, work_.re, 1);
        for_each_vector<T>(0, plan_.length, [&]<class X>(std::int64_t k) { f(0, k, load_number<X>(y, k)); });
        return;
      }
    }
    const std::int64_t size = plan_.columns->length;
    const Split<T> y = run_passes(*plan_.columns, plan_.columns->pass_count, from, x_, work_, V::size);
    const Split<const T> turns{plan_.turn_re, plan_.turn_im};
    for (std::int64_t first = 0; first < size; first += V::size) {
      first = std::min(first, size - V::size);
      simd::Native<T> re[V::size];
      simd::Native<T> im[V::size];
      for (int i = 0; i < V::size; ++i) {
        const std::int64_t at = (first + i) * V::size;
        const Number<V> turned = load_number<V>(turns, at) * load_number<V>(y, at);
        re[i] = turned.re.native();
        im[i] = turned.im.native();
      }
      transpose(re);
      transpose(im);
      for (int l = 0; l < kLines; ++l) {
        Number<V> numbers[kWidth];
        for (int k = 0; k < kWidth; ++k) numbers[k] = {V(re[l * kWidth + k]), V(im[l * kWidth + k])};
        butterfly<kWidth>(numbers);
        for (int k = 0; k < kWidth; ++k) f(l, k * size + first, numbers[k]);
      }
    }
  }

  /// The opposite sign of the exponent is obtained by conjugating both sides.
  void complex_to_complex(const T* const* from, T* const* to) const {
    const T sign = args_.forward ? T(1) : T(-1);
    const T re = args_.scale;
    const T im = sign * args_.scale;
    transform_lines(pairs(from, sign), [&]<class X>(int l, std::int64_t k, Number<X> y) {
      store_pairs(Number<X>{X(re) * y.re, X(im) * y.im}, to[l] + 2 * k);
    });
  }

  void real_to_complex(const T* const* from, T* const* to) const {
    transform_lines(pairs(from, T(1)),
                    [&]<class X>(int l, std::int64_t k, Number<X> y) { store_parts(y, line_of(z_, l), k); });
    for (int l = 0; l < kLines; ++l) {
      const Split<T> z = line_of(z_, l);
      separate(
          args_, [z]<class X>(std::int64_t k) { return load_number<X>(z, k); },
          [z]<class X>(std::int64_t k) { return load_back<X>(z, k); }, to[l]);
    }
  }

  void complex_to_real(const T* const* from, T* const* to) const {
    FromParts<T, kWidth> parts;
    for (int l = 0; l < kLines; ++l) {
      const Split<T> z = line_of(z_, l);
      join(from[l], z);
      parts.re[l] = z.re;
      parts.im[l] = z.im;
    }
    const T scale = args_.scale;
    transform_lines(parts, [&]<class X>(int l, std::int64_t k, Number<X> y) {
      store_pairs(X(scale) * Number<X>{y.im, y.re}, to[l] + 2 * k);
    });
  }
  /// Joins the coefficients of a real line to those of its pairs, the inverse of separate(), with the parts exchanged
  /// for the opposite sign.
  void join(const T* from, Split<T> z) const {
    const std::int64_t n = plan_.length;
    for_each_vector<T>(0, n + 1, [&]<class X>(std::int64_t i) { store_parts(load_pairs_as<X>(from + 2 * i), x_, i); });
    const Split<const T> roots{plan_.half_re, plan_.half_im};
    // z[k] = sum + i odd
    const auto put = [&]<class X>(std::int64_t k, Number<X> a, Number<X> b) {
      const Number<X> sum = a + b;
      const Number<X> odd = conjugate(load_number<X>(roots, k)) * (a - b);
      store_parts(Number<X>{sum.im + odd.re, sum.re - odd.im}, z, k);
    };
    put(0, Number<T>{from[0], T(0)}, Number<T>{from[2 * n], T(0)});
    const T middle = args_.doubled ? T(1) : T(0.5);
    const T sign = args_.forward ? -middle : middle;
    for_each_overlapping<T>(1, n, [&]<class X>(std::int64_t k) {
      const Number<X> a = load_number<X>(x_, k);
      const Number<X> b = load_back<X>(x_, n - k);
      put(k, Number<X>{X(middle) * a.re, X(sign) * a.im}, Number<X>{X(middle) * b.re, X(-sign) * b.im});
    });
  }

  const FftLines<T>& args_;
  const FftPlan<T>& plan_;
  Split<T> x_;
  Split<T> z_;
  Split<T> work_;
};

/// Stores pairs in kCount equal consecutive slices, each to its own place.
template <int kCount, class T>
void store_slices(Number<simd::Vec<T>> x, T* to, const std::int64_t* starts) {
  using V = simd::Vec<T>;
  constexpr int kSize = 2 * V::size / kCount;
  using Lanes = std::make_index_sequence<V::size>;
  const simd::Native<T> halves[2] = {interleaved<0>(x.re.native(), x.im.native(), Lanes()),
                                     interleaved<V::size / 2>(x.re.native(), x.im.native(), Lanes())};
  const auto store = [&]<int kLine, int... I>(std::integer_sequence<int, I...>) {
    constexpr int kFirst = kLine * kSize % V::size;
    const auto slice =
        __builtin_shufflevector(halves[kLine * kSize / V::size], halves[kLine * kSize / V::size], (kFirst + I)...);
    std::memcpy(to + starts[kLine], &slice, sizeof slice);
  };
  [&]<int... kLine>(std::integer_sequence<int, kLine...>) {
    (store.template operator()<kLine>(std::make_integer_sequence<int, kSize>()), ...);
  }(std::make_integer_sequence<int, kCount>());
}

/// Transforms short complex lines of kParts vectors each, factored in the same two parts: as many lines at once as fill
/// a tile, all in registers.
template <int kParts, class T>
void run_short_lines(const FftLines<T>& args) {
  using V = simd::Vec<T>;
  constexpr int kLines = V::size / kParts;
  constexpr std::int64_t kLength = kParts * V::size;
  const Split<const T> turns{args.plan->turn_re, args.plan->turn_im};
  const V scale(args.scale);
  for (std::int64_t first = args.begin; first < args.end; first += kLines) {
    simd::Native<T> re[V::size];
    simd::Native<T> im[V::size];
    std::int64_t starts[kLines];
    for (int l = 0; l < kLines; ++l) {
      // The last line replaces those beyond the end.
      starts[l] = 2 * kLength * std::min(first + l, args.end - 1);
      Number<V> x[kParts];
      for (int j = 0; j < kParts; ++j) {
        x[j] = load_pairs<T>(args.from + starts[l] + 2 * V::size * j);
        if (!args.forward) std::swap(x[j].re, x[j].im);
      }
      butterfly<kParts>(x);
      for (int k = 0; k < kParts; ++k) {
        if (k > 0) x[k] = load_number<V>(turns, k * V::size) * x[k];
        re[l * kParts + k] = x[k].re.native();
        im[l * kParts + k] = x[k].im.native();
      }
    }
    transpose(re);
    transpose(im);
    Number<V> numbers[V::size];
    for (int k = 0; k < V::size; ++k) numbers[k] = {V(re[k]), V(im[k])};
    butterfly<V::size>(numbers);
    for (int k = 0; k < V::size; ++k) {
      if (!args.forward) std::swap(numbers[k].re, numbers[k].im);
      store_slices<kLines>(scale * numbers[k], args.to + 2 * kParts * k, starts);
    }
  }
}

/// Transforms lines with as many rows as columns, two of which share a vector: half as many registers.
template <class T>
void run_square_lines(const FftLines<T>& args) {
  using V = simd::Vec<T>;
  constexpr int kRows = V::size / 2;
  constexpr std::int64_t kLength = kRows * kRows;
  const Split<const T> turns{args.plan->turn_re, args.plan->turn_im};
  const V scale(args.scale);
  for (std::int64_t first = args.begin; first < args.end; first += 2) {
    const std::int64_t starts[2] = {2 * kLength * first, 2 * kLength * std::min(first + 1, args.end - 1)};
    Number<V> x[kRows];
    for (int r = 0; r < kRows; ++r) {
      x[r] = parts_of<T>(V::load(args.from + starts[0] + 2 * kRows * r).native(),
                         V::load(args.from + starts[1] + 2 * kRows * r).native());
      if (!args.forward) std::swap(x[r].re, x[r].im);
    }
    butterfly<kRows>(x);
    simd::Native<T> re[kRows];
    simd::Native<T> im[kRows];
    for (int r = 0; r < kRows; ++r) {
      if (r > 0) x[r] = load_number<V>(turns, r * V::size) * x[r];
      re[r] = x[r].re.native();
      im[r] = x[r].im.native();
    }
    transpose_beside(re);
    transpose_beside(im);
    for (int c = 0; c < kRows; ++c) x[c] = {V(re[c]), V(im[c])};
    butterfly<kRows>(x);
    for (int r = 0; r < kRows; ++r) {
      if (!args.forward) std::swap(x[r].re, x[r].im);
      store_slices<2>(scale * x[r], args.to + 2 * kRows * r, starts);
    }
  }
}

/// Transforms the lines if they are short complex ones; returns false otherwise.
template <class T>
bool run_if_short_complex(const FftLines<T>& args) {
  constexpr int kWidth = simd::Vec<T>::size;
  if constexpr (kWidth >= 8) {
    if (args.plan->width == kWidth / 2) {
      run_square_lines(args);
      return true;
    }
  }
  const auto run = [&]<int kParts>() {
    if constexpr (kParts < kWidth) {
      if (args.plan->length == kParts * kWidth) {
        run_short_lines<kParts>(args);
        return true;
      }
    }
    return false;
  };
  return run.template operator()<2>() || run.template operator()<4>() || run.template operator()<8>();
}

/// Transforms the lines if they are short: complex ones, or real ones that become complex; returns false otherwise.
template <class T>
bool run_if_short(const FftLines<T>& args) {
  if (args.kind == FftKind::ComplexToReal || args.plan->columns || !args.plan->turn_re) return false;
  if (args.kind == FftKind::ComplexToComplex) return run_if_short_complex(args);
  // Several lines at once, through a buffer that stays in the cache.
  constexpr std::int64_t kLines = 8;
  constexpr std::int64_t kLongest = 8 * simd::Vec<T>::size;
  const std::int64_t n = args.plan->length;
  T pairs[2 * kLines * kLongest];
  for (std::int64_t first = args.begin; first < args.end; first += kLines) {
    const std::int64_t count = std::min(kLines, args.end - first);
    const FftLines<T> lines{
        .plan = args.plan, .length = n, .from = args.from + 2 * n * first, .to = pairs, .end = count};
    if (!run_if_short_complex(lines)) return false;
    for (std::int64_t l = 0; l < count; ++l) {
      const T* const z = pairs + 2 * n * l;
      separate(
          args, [z]<class X>(std::int64_t k) { return load_pairs_as<X>(z + 2 * k); },
          [z]<class X>(std::int64_t k) { return load_pairs_back<X>(z, k); }, args.to + 2 * (n + 1) * (first + l));
    }
  }
  return true;
}

}  // namespace LM_SIMD_ISA
}  // namespace lamella::cpu
