#pragma once

#include <cstdint>

namespace lamella::cpu {

// Discrete Fourier transforms of many lines at once. `lanes` lines are interleaved (element j of lane l at j * lanes +
// l), with real and imaginary parts separate, so that every loop runs over contiguous numbers.

/// Largest prime transformed by a pass, which takes about `radix` operations per number; larger ones are transformed by
/// a convolution.
inline constexpr std::int64_t kLargestRadix = 101;

/// One pass: reduces transforms of length radix * rest to transforms of length `rest`.
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

/// The plan of a transform of `length` complex numbers.
///
/// Without `inner`: pass after pass. With `inner`: a convolution with exp(pi i j^2 / length) (Bluestein 1970), computed
/// with inner->length numbers. With `order` as well: the length is a prime p, and apart from number 0 the transform is
/// a convolution of p - 1 = inner->length numbers, of x[g^q] with exp(-2 pi i g^-q / p) for a generator g of the
/// numbers modulo p (Rader, Discrete Fourier transforms when the number of data samples is prime, 1968).
///
/// With `columns`, lines may also be transformed one by one, each in two parts (Bailey, FFTs in external or
/// hierarchical memory, 1990): `width` transforms of columns->length numbers `width` apart, a multiplication by `turn`,
/// and transforms of `width` numbers. A vector holds columns of one line, or of two or four.
template <class T>
struct FftPlan {
  std::int64_t length = 0;
  std::int64_t pass_count = 0;
  const FftPass<T>* passes = nullptr;
  const FftPlan* inner = nullptr;
  /// g^q modulo p for q in [0, p - 1).
  const std::int32_t* order = nullptr;
  /// exp(-pi i j^2 / length), and the transform of the convolution's kernel, divided by inner->length.
  const T* chirp_re = nullptr;
  const T* chirp_im = nullptr;
  const T* spectrum_re = nullptr;
  const T* spectrum_im = nullptr;
  const FftPlan* columns = nullptr;
  std::int64_t width = 0;
  /// exp(-2 pi i k l / length) for k in [0, length / width) and l in [0, width), one k after the other, each repeated
  /// to fill a vector. Without `columns` for lines so short that several are transformed at once.
  const T* turn_re = nullptr;
  const T* turn_im = nullptr;
  /// exp(-pi i k / length) for k in [0, length]: converts between this transform and that of twice as many real
  /// numbers.
  const T* half_re = nullptr;
  const T* half_im = nullptr;
};

/// Factors applied after transforms of adjacent lines that are the first part of a transform of `whole` numbers:
/// element k of line i is multiplied by exp(-2 pi i i k / whole). Lines come in groups of as many as are interleaved.
template <class T>
struct FftTurns {
  /// Factors for line l of a group, at k * lanes + l: exp(-2 pi i l k / whole).
  const T* fine_re = nullptr;
  const T* fine_im = nullptr;
  /// Factors for group g, at g * k: exp(-2 pi i lanes g k / whole).
  const T* coarse_re = nullptr;
  const T* coarse_im = nullptr;
};
/// Number of interleaved lines of float32 or float64.
template <class T>
inline constexpr std::int64_t kFftLanes = sizeof(T) == 4 ? 16 : 8;

/// The types of the numbers on both sides.
enum class FftKind : std::uint8_t { ComplexToComplex, RealToComplex, ComplexToReal };

/// Lines [begin, end). Line i begins at (i / inner) * size * inner + i % inner, where `size` is the number of elements
/// of a line on that side, and its elements are `inner` apart; complex numbers are pairs.
template <class T>
struct FftLines {
  const FftPlan<T>* plan = nullptr;
  FftKind kind = FftKind::ComplexToComplex;
  /// True if the exponent's sign is minus.
  bool forward = true;
  /// True if the coefficients of a real transform that also stand for their conjugates count twice.
  bool doubled = false;
  std::int64_t length = 0;  ///< length of the transform, in numbers of the real side if there is one
  std::int64_t inner = 1;
  /// The `inner` of the output, for complex transforms; 0 if it is that of the input.
  std::int64_t to_inner = 0;
  /// Factors applied after a complex transform of whole groups of lines, or null.
  const FftTurns<T>* turns = nullptr;
  const T* from = nullptr;
  T* to = nullptr;
  /// The range of `count` lines; the total determines the algorithm.
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
