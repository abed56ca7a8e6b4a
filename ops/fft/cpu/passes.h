#pragma once

#include <algorithm>
#include <utility>

#include "ops/fft/cpu/butterflies.h"
#include "ops/fft/cpu/places.h"

// Stockham's self-sorting form: a pass reads x[q + s (p + rest k)] and writes y[q + s (radix p + j)], in which s, the
// product of the previous radices times the lanes, is the length of the innermost loop. See C. Van Loan, Computational
// Frameworks for the Fast Fourier Transform (1992), section 1.7.

namespace lamella::cpu {
inline namespace LM_SIMD_ISA {

/// One pass; kRadix is 0 for an odd radix without a butterfly of its own. From and To are Split<T> or other places
/// (places.h); the latter require at least as many lanes as a vector has. Only the last pass, whose `rest` is 1, goes
/// to another place than Split<T>.
template <int kRadix, class T, class From = Split<T>, class To = Split<T>>
class Pass {
 public:
  Pass(const FftPass<T>& pass, const From& from, const To& to, std::int64_t s)
      : pass_(pass), from_(from), to_(to), s_(s), columns_(s * pass.rest) {}

  void run() const {
    if (!kInBuffers || s_ >= V::size) {
      for (std::int64_t q = 0; q < s_; q += V::size) {
        q = std::min(q, s_ - V::size);  // the last vector overlaps the one before it
        step<V, false>(0, q);
      }
      if constexpr (std::is_same_v<To, Split<T>>) {
        for (std::int64_t p = 1; p < pass_.rest; ++p) {
          for (std::int64_t q = 0; q < s_; q += V::size) {
            q = std::min(q, s_ - V::size);
            step<V, true>(p, q);
          }
        }
      }
    } else if constexpr (!kInBuffers) {
      return;
    } else if (columns_ >= V::size) {
      for (std::int64_t column = 0; column < columns_; column += V::size) {
        column = std::min(column, columns_ - V::size);
        step_across(column);
      }
    } else {
      for (std::int64_t p = 0; p < pass_.rest; ++p) {
        for (std::int64_t q = 0; q < s_; ++q) step<T, true>(p, q);
      }
    }
  }

 private:
  using V = simd::Vec<T>;
  static constexpr bool kInBuffers = std::is_same_v<From, Split<T>> && std::is_same_v<To, Split<T>>;
  static constexpr std::int64_t kMost = kRadix > 0 ? kRadix : kLargestRadix;

  std::int64_t radix() const { return kRadix > 0 ? kRadix : pass_.radix; }
  /// Calls f(0) to f(radix - 1), unrolled if the radix is known, so that arrays stay in registers.
  template <class F>
  [[gnu::always_inline]] void for_each_row(F&& f) const {
    if constexpr (kRadix > 0) {
      [&]<std::int64_t... K>(std::integer_sequence<std::int64_t, K...>)
          __attribute__((always_inline)) { (f(K), ...); }(std::make_integer_sequence<std::int64_t, kRadix>());
    } else {
      for (std::int64_t k = 0; k < pass_.radix; ++k) f(k);
    }
  }

  /// Loads and transforms the vector of adjacent columns at number q + s p.
  template <class X>
  [[gnu::always_inline]] void transform(std::int64_t column, Number<X> (&x)[kMost]) const {
    for_each_row([&](std::int64_t k)
                     __attribute__((always_inline)) { x[k] = load_number<X>(from_, column + columns_ * k); });
    if constexpr (kRadix > 0) {
      butterfly<kRadix>(x);
    } else {
      odd_butterfly(pass_, x);
    }
  }

  /// Processes columns of one p; for p = 0 all factors are 1.
  template <class X, bool kTurned>
  [[gnu::always_inline]] void step(std::int64_t p, std::int64_t q) const {
    Number<X> x[kMost];
    transform(q + s_ * p, x);
    const std::int64_t at = q + s_ * radix() * p;
    for_each_row([&](std::int64_t j) __attribute__((always_inline)) {
      if (kTurned && j > 0) {
        const std::int64_t twiddle = (j - 1) * pass_.rest + p;
        x[j] = Number<X>{X(pass_.twiddle_re[twiddle]), X(pass_.twiddle_im[twiddle])} * x[j];
      }
      store_parts(x[j], to_, at + s_ * j);
    });
  }

  /// Processes a vector of columns that belong to more than one p.
  void step_across(std::int64_t column) const {
    Number<V> x[kMost];
    transform(column, x);
    std::int64_t p[V::size];
    std::int64_t place[V::size];
    for (int l = 0; l < V::size; ++l) {
      p[l] = (column + l) / s_;
      place[l] = column + l + s_ * (radix() - 1) * p[l];
    }
    for_each_row([&](std::int64_t j) __attribute__((always_inline)) {
      T re[V::size];
      T im[V::size];
      if (j > 0) {
        const T* const twiddle_re = pass_.twiddle_re + (j - 1) * pass_.rest;
        const T* const twiddle_im = pass_.twiddle_im + (j - 1) * pass_.rest;
        for (int l = 0; l < V::size; ++l) {
          re[l] = twiddle_re[p[l]];
          im[l] = twiddle_im[p[l]];
        }
        x[j] = Number<V>{V::load(re), V::load(im)} * x[j];
      }
      store_parts(x[j], Split<T>{re, im}, 0);
      for (int l = 0; l < V::size; ++l) {
        to_.re[place[l] + s_ * j] = re[l];
        to_.im[place[l] + s_ * j] = im[l];
      }
    });
  }

  const FftPass<T>& pass_;
  const From from_;
  const To to_;
  const std::int64_t s_;
  const std::int64_t columns_;
};

/// Runs a pass; `s` is the product of the previous radices times the lanes.
template <class T, class From, class To>
void run_pass(const FftPass<T>& pass, const From& from, const To& to, std::int64_t s) {
  const auto run = [&]<int kRadix>() { Pass<kRadix, T, From, To>(pass, from, to, s).run(); };
  switch (pass.radix) {
    case 2:
      return run.template operator()<2>();
    case 3:
      return run.template operator()<3>();
    case 4:
      return run.template operator()<4>();
    case 5:
      return run.template operator()<5>();
    case 7:
      return run.template operator()<7>();
    case 8:
      return run.template operator()<8>();
    case 9:
      return run.template operator()<9>();
    case 16:
      return run.template operator()<16>();
    default:
      return run.template operator()<0>();
  }
}

/// Runs the first `count` passes of a plan that has passes and is not a convolution, the first one from `from`. x and y
/// hold intermediate results; returns the one that holds the result.
template <class T, class From>
Split<T> run_passes(const FftPlan<T>& plan, std::int64_t count, const From& from, Split<T> x, Split<T> y,
                    std::int64_t lanes) {
  run_pass(plan.passes[0], from, x, lanes);
  std::int64_t s = lanes * plan.passes[0].radix;
  for (std::int64_t i = 1; i < count; ++i) {
    run_pass(plan.passes[i], x, y, s);
    std::swap(x, y);
    s *= plan.passes[i].radix;
  }
  return x;
}
/// Runs the last pass.
template <class T, class From, class To>
void run_last_pass(const FftPlan<T>& plan, const From& from, const To& to, std::int64_t lanes) {
  const FftPass<T>& pass = plan.passes[plan.pass_count - 1];
  run_pass(pass, from, to, lanes * plan.length / pass.radix);
}

/// Returns the number of workspace elements that transform() needs per lane.
template <class T>
std::int64_t work_size(const FftPlan<T>& plan) {
  return plan.inner ? 2 * plan.inner->length + work_size(*plan.inner) : 2 * plan.length;
}

/// Computes to[j] = factors[j] from[j] for j in [0, count), in all lanes.
template <class T>
void multiply_lanes(Split<const T> factors, Split<T> from, Split<T> to, std::int64_t count, std::int64_t lanes) {
  if (lanes == 1) {
    for_each_vector<T>(0, count, [&]<class X>(std::int64_t j) {
      store_parts(load_number<X>(factors, j) * load_number<X>(from, j), to, j);
    });
    return;
  }
  for (std::int64_t j = 0; j < count; ++j) {
    for_each_vector<T>(j * lanes, (j + 1) * lanes, [&]<class X>(std::int64_t i) {
      store_parts(Number<X>{X(factors.re[j]), X(factors.im[j])} * load_number<X>(from, i), to, i);
    });
  }
}

template <class T>
Split<T> transform(const FftPlan<T>& plan, Split<T> x, T* work, std::int64_t lanes);

/// Computes Rader's convolution (see FftPlan) in place.
template <class T>
void convolve_by_powers(const FftPlan<T>& plan, Split<T> x, T* work, std::int64_t lanes) {
  const FftPlan<T>& inner = *plan.inner;
  const std::int64_t size = inner.length * lanes;
  const Split<const T> factors{plan.spectrum_re, plan.spectrum_im};
  const Split<T> y{work, work + size};
  const Split<T> z{work + 2 * size, work + 3 * size};
  // The second transform has the sign of the first one, and its results are in reverse order of g^-q, which is the
  // order of g^q.
  if (lanes == kFftLanes<T> && lanes >= simd::Vec<T>::size) {
    const Ordered<T> powers{x, plan.order};
    const std::int64_t passes = inner.pass_count - 1;  // all but the last pass; p - 1 exceeds any radix
    run_last_pass(inner, run_passes(inner, passes, powers, y, z, lanes), ToProducts<T>{factors, x}, lanes);
    run_last_pass(inner, run_passes(inner, passes, x + lanes, y, z, lanes), powers, lanes);
    return;
  }
  const auto each = [&](auto&& f) {
    for (std::int64_t q = 0; q < inner.length; ++q) {
      for (std::int64_t l = 0; l < lanes; ++l) f(q * lanes + l, plan.order[q] * lanes + l);
    }
  };
  each([&](std::int64_t i, std::int64_t at) { store_parts(load_number<T>(x, at), y, i); });
  const Split<T> spectrum = transform(inner, y, z.re, lanes);
  const Split<T> other = spectrum.re == y.re ? z : y;
  Number<T> first[kFftLanes<T>];
  for (std::int64_t l = 0; l < lanes; ++l) {
    first[l] = load_number<T>(x, l);
    store_parts(first[l] + load_number<T>(spectrum, l), x, l);
  }
  multiply_lanes(factors, spectrum, spectrum, inner.length, lanes);
  for (std::int64_t l = 0; l < lanes; ++l) store_parts(first[l] + load_number<T>(spectrum, l), spectrum, l);
  const Split<T> convolved = transform(inner, spectrum, other.re, lanes);
  each([&](std::int64_t i, std::int64_t at) { store_parts(load_number<T>(convolved, i), x, at); });
}

/// Transforms `lanes` lines in `x`, in place or into `work`; returns the one that holds the result.
template <class T>
Split<T> transform(const FftPlan<T>& plan, Split<T> x, T* work, std::int64_t lanes) {
  if (!plan.inner) {
    Split<T> y{work, work + plan.length * lanes};
    std::int64_t s = lanes;
    for (std::int64_t i = 0; i < plan.pass_count; ++i) {
      const FftPass<T>& pass = plan.passes[i];
      run_pass(pass, x, y, s);
      std::swap(x, y);
      s *= pass.radix;
    }
    return x;
  }
  if (plan.order) {
    convolve_by_powers(plan, x, work, lanes);
    return x;
  }
  const std::int64_t size = plan.inner->length * lanes;
  const Split<const T> chirp{plan.chirp_re, plan.chirp_im};
  const Split<T> padded{work, work + size};
  T* const rest = work + 2 * size;
  multiply_lanes(chirp, x, padded, plan.length, lanes);
  std::fill(padded.re + plan.length * lanes, padded.re + size, T(0));
  std::fill(padded.im + plan.length * lanes, padded.im + size, T(0));
  const Split<T> spectrum = transform(*plan.inner, padded, rest, lanes);
  // The inverse transform, by exchanging the parts before and after.
  multiply_lanes({plan.spectrum_re, plan.spectrum_im}, spectrum, swapped(spectrum), plan.inner->length, lanes);
  T* const other = spectrum.re == padded.re ? rest : work;
  const Split<T> convolved = transform(*plan.inner, spectrum, other, lanes);
  multiply_lanes(chirp, swapped(convolved), x, plan.length, lanes);
  return x;
}

}  // namespace LM_SIMD_ISA
}  // namespace lamella::cpu
