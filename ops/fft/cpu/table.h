#pragma once

#include <cstdint>

namespace lamella::cpu {

// Discrete Fourier transforms of many lines at once. `lanes` lines lie interleaved (element j of lane l at
// j * lanes + l), real and imaginary parts apart, so that every loop runs over contiguous numbers.

/// Primes above this are transformed by a convolution: a pass takes about `radix` operations for each number.
inline constexpr std::int64_t kLargestRadix = 101;

/// One pass: of transforms of length radix * rest into transforms of length `rest`.
template <class T>
struct FftPass {
  std::int64_t radix = 0;
  std::int64_t rest = 0;
  /// exp(-2 pi i p j / (radix * rest)) for j in [1, radix) and p in [0, rest), at (j - 1) * rest + p.
  const T* twiddle_re = nullptr;
  const T* twiddle_im = nullptr;
  /// For an odd radix without a butterfly of its own: cos and sin of 2 pi j k / radix for j and k in [1, radix / 2], at
  /// (j - 1) * (radix / 2) + k - 1.
  const T* root_re = nullptr;
  const T* root_im = nullptr;
};

/// How a transform of `length` complex numbers is done: pass after pass, or, where `inner` is set, as a convolution
/// with exp(pi i j^2 / length) (Bluestein 1970), which inner->length numbers hold. Where `order` is set, the length is
/// a prime p, and number 0 apart the transform is a convolution of p - 1 = inner->length numbers: with a generator g of
/// the numbers modulo p, of x[g^q] with exp(-2 pi i g^-q / p) (Rader, Discrete Fourier transforms when the number of
/// data samples is prime, 1968).
/// Lines may be done one by one, in two parts each, where `columns` is set (Bailey, FFTs in external or hierarchical
/// memory, 1990): `width` transforms of columns->length numbers that lie `width` apart, a multiplication by `turn`, and
/// transforms of `width` numbers. A vector holds the columns of one line, or of two or four.
template <class T>
struct FftPlan {
  std::int64_t length = 0;
  std::int64_t pass_count = 0;
  const FftPass<T>* passes = nullptr;
  const FftPlan* inner = nullptr;
  /// g^q modulo p for q in [0, p - 1).
  const std::int32_t* order = nullptr;
  /// exp(-pi i j^2 / length), and the transform of what numbers are convolved with, divided by inner->length.
  const T* chirp_re = nullptr;
  const T* chirp_im = nullptr;
  const T* spectrum_re = nullptr;
  const T* spectrum_im = nullptr;
  const FftPlan* columns = nullptr;
  std::int64_t width = 0;
  /// exp(-2 pi i k l / length) for k in [0, length / width) and l in [0, width), one k after the other, each as often
  /// as fills a vector. Without `columns` for lines so short that they are done several at once.
  const T* turn_re = nullptr;
  const T* turn_im = nullptr;
  /// exp(-pi i k / length) for k in [0, length]: what turns this transform into that of twice as many real numbers.
  const T* half_re = nullptr;
  const T* half_im = nullptr;
};

/// What the numbers of lines beside one another are multiplied by after a transform that is the first part of one of
/// `whole` numbers: element k of line i by exp(-2 pi i i k / whole). Lines come in groups of as many as lie
/// interleaved.
template <class T>
struct FftTurns {
  /// For line l of a group, at k * lanes + l: exp(-2 pi i l k / whole).
  const T* fine_re = nullptr;
  const T* fine_im = nullptr;
  /// For group g, at g * k: exp(-2 pi i lanes g k / whole).
  const T* coarse_re = nullptr;
  const T* coarse_im = nullptr;
};
/// How many lines of float32 and of float64 lie interleaved.
template <class T>
inline constexpr std::int64_t kFftLanes = sizeof(T) == 4 ? 16 : 8;

/// What the numbers on both sides are.
enum class FftKind : std::uint8_t { ComplexToComplex, RealToComplex, ComplexToReal };

/// Lines [begin, end). Line i begins at (i / inner) * size * inner + i % inner, where `size` is the number of elements
/// of a line on that side, and steps by `inner`; complex numbers are pairs.
template <class T>
struct FftLines {
  const FftPlan<T>* plan = nullptr;
  FftKind kind = FftKind::ComplexToComplex;
  /// The sign of the exponent: minus where set.
  bool forward = true;
  /// Whether the coefficients of a real transform that stand for their conjugates, too, count twice.
  bool doubled = false;
  std::int64_t length = 0;  ///< of the transform, in numbers of the real side where there is one
  std::int64_t inner = 1;
  /// The same for what is written, of complex transforms; 0: as what is read.
  std::int64_t to_inner = 0;
  /// Set for a complex transform of whole groups of lines.
  const FftTurns<T>* turns = nullptr;
  const T* from = nullptr;
  T* to = nullptr;
  /// Of `count`, on which it depends how they are done.
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t count = 0;
  T scale = 1;
};

template <class T>
struct FftKernels {
  void (*lines)(const FftLines<T>&) = nullptr;
  std::int64_t width = 0;  ///< numbers in a vector
};

struct FftTable {
  FftKernels<float> float32;
  FftKernels<double> float64;
};

void fill_fft(FftTable& table);

}  // namespace lamella::cpu
