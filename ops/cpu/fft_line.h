#pragma once

#include <utility>

#include "ops/cpu/fft_passes.h"
#include "ops/cpu/tile.h"

// One line whose numbers lie beside one another, its vectors along the line: a line stays in the first level cache
// where as many lines as a vector has lanes do not.

namespace lamella::cpu {
inline namespace LM_SIMD_ISA {

template <class V, std::size_t... I>
V reversed(V a, std::index_sequence<I...>) {
  return __builtin_shufflevector(a, a, (static_cast<int>(sizeof...(I)) - 1 - static_cast<int>(I))...);
}
/// The numbers of which the last one is at `at`, the last one first.
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

/// A complex line, or a real one of an even length, which counts as one of half as many complex numbers.
template <class T>
class Line {
 public:
  Line(const FftLines<T>& args, T* buffer) : args_(args), plan_(*args.plan) {
    const std::int64_t part = part_size(plan_);
    x_ = {buffer, buffer + part};
    z_ = {buffer + 2 * part, buffer + 3 * part};
    work_ = buffer + 4 * part;
  }
  static std::int64_t buffer_size(const FftPlan<T>& plan) { return 4 * part_size(plan) + work_size(plan); }
  static bool takes(const FftLines<T>& args) {
    const bool is_complex = args.kind == FftKind::ComplexToComplex;
    return args.inner == 1 && args.to_inner <= 1 && args.turns == nullptr &&
           (is_complex || args.plan->length != args.length);
  }

  void run(std::int64_t line) const {
    const std::int64_t n = plan_.length;
    if (n < 1) return;  // no line is empty, and so what is transformed below has been written
    switch (args_.kind) {
      case FftKind::ComplexToComplex:
        complex_to_complex(args_.from + 2 * n * line, args_.to + 2 * n * line);
        break;
      case FftKind::RealToComplex:
        real_to_complex(args_.from + 2 * n * line, args_.to + 2 * (n + 1) * line);
        break;
      case FftKind::ComplexToReal:
        complex_to_real(args_.from + 2 * (n + 1) * line, args_.to + 2 * n * line);
        break;
    }
  }

 private:
  using V = simd::Vec<T>;

  /// Whole cache lines, and one more: the parts are not to be a power of two apart.
  static std::int64_t part_size(const FftPlan<T>& plan) {
    constexpr std::int64_t kNumbers = 64 / sizeof(T);
    return (plan.length + 1 + kNumbers - 1) / kNumbers * kNumbers + kNumbers;
  }

  void read(const T* from, std::int64_t count, Split<T> to) const {
    for_each_vector<T>(0, count, [&]<class X>(std::int64_t i) { store_parts(load_pairs_as<X>(from + 2 * i), to, i); });
  }

  /// Of what is in `x`. Calls f(k, numbers k, k + 1, ..); some twice.
  template <class F>
  [[gnu::always_inline]] void transform_line(Split<T> x, F&& f) const {
    if (!plan_.columns) {
      const Split<T> y = transform(plan_, x, work_, 1);
      for_each_vector<T>(0, plan_.length, [&]<class X>(std::int64_t k) { f(k, load_number<X>(y, k)); });
      return;
    }
    const std::int64_t size = plan_.columns->length;
    const Split<T> y = transform(*plan_.columns, x, work_, V::size);
    for (std::int64_t first = 0; first < size; first += V::size) {
      first = std::min(first, size - V::size);
      simd::Native<T> re[V::size];
      simd::Native<T> im[V::size];
      for (int i = 0; i < V::size; ++i) {
        const std::int64_t at = (first + i) * V::size;
        const Number<V> turned =
            load_number<V>(Split<const T>{plan_.turn_re, plan_.turn_im}, at) * load_number<V>(y, at);
        re[i] = turned.re.native();
        im[i] = turned.im.native();
      }
      transpose(re);
      transpose(im);
      Number<V> numbers[V::size];
      for (int l = 0; l < V::size; ++l) numbers[l] = {V(re[l]), V(im[l])};
      butterfly<V::size>(numbers);
      for (int l = 0; l < V::size; ++l) f(l * size + first, numbers[l]);
    }
  }

  void complex_to_complex(const T* from, T* to) const {
    const T scale = args_.scale;
    if (args_.forward) {
      read(from, plan_.length, x_);
      transform_line(x_, [&]<class X>(std::int64_t k, Number<X> y) { store_pairs(X(scale) * y, to + 2 * k); });
    } else {
      read(from, plan_.length, swapped(x_));
      transform_line(
          x_, [&]<class X>(std::int64_t k, Number<X> y) { store_pairs(X(scale) * Number<X>{y.im, y.re}, to + 2 * k); });
    }
  }

  void real_to_complex(const T* from, T* to) const {
    const std::int64_t n = plan_.length;
    read(from, n, x_);
    transform_line(x_, [&]<class X>(std::int64_t k, Number<X> y) { store_parts(y, z_, k); });
    const Split<const T> roots{plan_.half_re, plan_.half_im};
    const T sign = args_.forward ? T(1) : T(-1);
    // Half of the sum of a, which is number k, and b, the conjugate of number n - k, and of their difference, turned.
    const auto put = [&]<class X>(std::int64_t k, Number<X> a, Number<X> b, T scale) {
      const Number<X> sum = X(T(0.5) * scale) * (a + b + load_number<X>(roots, k) * turn(a - b));
      store_pairs(Number<X>{sum.re, X(sign) * sum.im}, to + 2 * k);
    };
    const Number<T> first{z_.re[0], z_.im[0]};
    put(0, first, conjugate(first), args_.scale);
    const T middle = args_.doubled ? 2 * args_.scale : args_.scale;
    for_each_vector<T>(1, n, [&]<class X>(std::int64_t k) {
      put(k, load_number<X>(z_, k), conjugate(load_back<X>(z_, n - k)), middle);
    });
    put(n, first, conjugate(first), args_.scale);
  }

  void complex_to_real(const T* from, T* to) const {
    const std::int64_t n = plan_.length;
    read(from, n + 1, x_);
    const Split<const T> roots{plan_.half_re, plan_.half_im};
    // z[k] = sum + i odd, with the parts exchanged for the other sign.
    const auto put = [&]<class X>(std::int64_t k, Number<X> a, Number<X> b) {
      const Number<X> sum = a + b;
      const Number<X> odd = conjugate(load_number<X>(roots, k)) * (a - b);
      store_parts(Number<X>{sum.im + odd.re, sum.re - odd.im}, z_, k);
    };
    put(0, Number<T>{from[0], T(0)}, Number<T>{from[2 * n], T(0)});
    const T middle = args_.doubled ? T(1) : T(0.5);
    const T sign = args_.forward ? -middle : middle;
    for_each_vector<T>(1, n, [&]<class X>(std::int64_t k) {
      const Number<X> a = load_number<X>(x_, k);
      const Number<X> b = load_back<X>(x_, n - k);
      put(k, Number<X>{X(middle) * a.re, X(sign) * a.im}, Number<X>{X(middle) * b.re, X(-sign) * b.im});
    });
    const T scale = args_.scale;
    transform_line(
        z_, [&]<class X>(std::int64_t k, Number<X> y) { store_pairs(X(scale) * Number<X>{y.im, y.re}, to + 2 * k); });
  }

  const FftLines<T>& args_;
  const FftPlan<T>& plan_;
  Split<T> x_;
  Split<T> z_;
  T* work_;
};

/// Short complex lines of kParts times a vector's numbers, in the same two parts: as many lines at once as fill a tile,
/// all of it in registers.
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
      // What is missing of the last ones is the last one again.
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
      T pairs[2 * V::size];
      if (!args.forward) std::swap(numbers[k].re, numbers[k].im);
      store_pairs(scale * numbers[k], pairs);
      for (int l = 0; l < kLines; ++l) {
        std::copy_n(pairs + 2 * kParts * l, 2 * kParts, args.to + starts[l] + 2 * kParts * k);
      }
    }
  }
}

/// Whether the lines were short ones.
template <class T>
bool run_if_short(const FftLines<T>& args) {
  constexpr int kWidth = simd::Vec<T>::size;
  if (args.kind != FftKind::ComplexToComplex || args.plan->columns || !args.plan->turn_re) return false;
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

}  // namespace LM_SIMD_ISA
}  // namespace lamella::cpu
