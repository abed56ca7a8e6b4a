#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <numbers>
#include <utility>

#include "ops/cpu/tables/random_fill.h"
#include "ops/random/fill.h"
#include "ops/simd/vec.h"

// Philox for as many counters at once as a register has 64-bit lanes. A lane holds one 32-bit word of its counter's
// block in its lower half, where the 32 x 32 bit multiplication reads it. The words are put in order in a small buffer,
// from which the distributions read.

namespace lamella::cpu {
namespace {

using random::Fill;
using simd::Native;
using simd::Vec;

using Lanes = Native<std::uint64_t>;
constexpr int kLanes = simd::kVectorBytes / 8;
/// Number of registers of counters processed together, to hide the multiplication's latency; limited by the number of
/// registers.
constexpr int kGroups = simd::kVectorBytes == 64 ? 4 : 2;
/// Number of counters whose words are computed at a time.
constexpr std::int64_t kChunk = 256;
static_assert(kChunk % (kLanes * kGroups) == 0);

constexpr std::uint64_t kLow = 0xFFFFFFFFu;

/// Returns the products of the lower halves of the lanes.
Lanes multiply_low(Lanes a, Lanes b) {
#if defined(__AVX512F__) && LM_SIMD_BYTES == 64
  return reinterpret_cast<Lanes>(
      _mm512_maskz_mul_epu32(0xff, reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
#elif defined(__AVX2__)
  return reinterpret_cast<Lanes>(_mm256_mul_epu32(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b)));
#elif defined(__x86_64__)
  return reinterpret_cast<Lanes>(_mm_mul_epu32(reinterpret_cast<__m128i>(a), reinterpret_cast<__m128i>(b)));
#elif defined(__aarch64__)
  return vmull_u32(vmovn_u64(a), vmovn_u64(b));
#else
  return (a & kLow) * (b & kLow);
#endif
}

/// Interleaves a and b: a0 b0 a1 b1 ... of their first (kHalf = 0) or second halves.
template <int kHalf, class V>
V interleave(V a, V b) {
  constexpr int kSize = sizeof(V) / sizeof(a[0]);
  return [&]<int... I>(std::integer_sequence<int, I...>) {
    return __builtin_shufflevector(a, b, (kHalf * kSize / 2 + I / 2 + (I % 2) * kSize)...);
  }(std::make_integer_sequence<int, kSize>());
}
/// Returns every second element of a and b, from the first (kOdd = 0) or from the second on.
template <int kOdd, class V>
V every_second(V a, V b) {
  constexpr int kSize = sizeof(V) / sizeof(a[0]);
  return [&]<int... I>(std::integer_sequence<int, I...>) {
    return __builtin_shufflevector(a, b, (2 * I + kOdd)...);
  }(std::make_integer_sequence<int, kSize>());
}

/// The words of a chunk: words[2 n] holds the first two of the n-th counter, the first one lower, words[2 n + 1] the
/// others.
struct Words {
  alignas(64) std::uint64_t words[2 * kChunk];

  /// Computes the words of `counters` counters from `first` on, a multiple of kLanes * kGroups.
  void make(std::uint64_t seed, std::uint64_t first, std::int64_t counters) {
    Lanes lane_numbers;
    for (int i = 0; i < kLanes; ++i) lane_numbers[i] = static_cast<std::uint64_t>(i);
    const Lanes a_factor = Lanes{} + Philox::kMultiplierA;
    const Lanes b_factor = Lanes{} + Philox::kMultiplierB;
    for (std::int64_t at = 0; at < counters; at += kLanes * kGroups) {
      Lanes c0[kGroups], c1[kGroups], c2[kGroups], c3[kGroups];
      for (int g = 0; g < kGroups; ++g) {
        c0[g] = lane_numbers + (first + static_cast<std::uint64_t>(at + g * kLanes));
        c1[g] = c0[g] >> 32;
        c2[g] = c3[g] = Lanes{};
      }
      auto key0 = static_cast<std::uint32_t>(seed);
      auto key1 = static_cast<std::uint32_t>(seed >> 32);
      for (int round = 0; round < Philox::kRounds; ++round) {
        for (int g = 0; g < kGroups; ++g) {
          // The upper halves of the lanes are never read.
          const Lanes a = multiply_low(c0[g], a_factor);
          const Lanes b = multiply_low(c2[g], b_factor);
          c0[g] = (b >> 32) ^ c1[g] ^ key0;
          c1[g] = b;
          c2[g] = (a >> 32) ^ c3[g] ^ key1;
          c3[g] = a;
        }
        key0 += Philox::kWeylA;
        key1 += Philox::kWeylB;
      }
      for (int g = 0; g < kGroups; ++g) {
        const Lanes front = (c0[g] & kLow) | (c1[g] << 32);
        const Lanes back = (c2[g] & kLow) | (c3[g] << 32);
        std::uint64_t* const to = words + 2 * (at + g * kLanes);
        const Lanes first_half = interleave<0>(front, back);
        const Lanes second_half = interleave<1>(front, back);
        std::memcpy(to, &first_half, sizeof(Lanes));
        std::memcpy(to + kLanes, &second_half, sizeof(Lanes));
      }
    }
  }
};

/// Returns numbers in [0, 1) from one register of words at `from`.
template <class T>
Vec<T> units_of(const std::uint64_t* from, int bits);

template <>
Vec<float> units_of<float>(const std::uint64_t* from, int bits) {
  Native<std::uint32_t> w;
  std::memcpy(&w, from, sizeof(w));
  w >>= 32 - bits;
  const Vec<float> integers(__builtin_convertvector(reinterpret_cast<Native<std::int32_t>>(w), Native<float>));
  return integers * (1.0f / static_cast<float>(1 << bits));
}

template <>
Vec<double> units_of<double>(const std::uint64_t* from, int) {
  Lanes w;
  std::memcpy(&w, from, sizeof(w));
  w = ((w << 32) | (w >> 32)) >> 11;
#if defined(__AVX512DQ__) || defined(__aarch64__)
  const auto integers = __builtin_convertvector(w, Native<double>);
#else
  // Both halves become the lowest digits of doubles with 2^84 and 2^52 added; all sums are exact.
  const auto upper = reinterpret_cast<Native<double>>((w >> 32) | 0x4530000000000000u);
  const auto lower = reinterpret_cast<Native<double>>((w & kLow) | 0x4330000000000000u);
  const Native<double> integers = (upper - (0x1p84 + 0x1p52)) + lower;
#endif
  return Vec<double>(integers) * 0x1p-53;
}

/// Returns the leading coefficients of the series of sin(x) / x (kFirst = 1) or cos(x) (kFirst = 0) in x^2.
template <class T, int kFirst, std::size_t kTerms>
constexpr std::array<T, kTerms> taylor() {
  std::array<T, kTerms> terms{};
  double factor = 1;
  for (std::size_t k = 0; k < kTerms; ++k) {
    terms[k] = static_cast<T>(factor);
    const double n = 2.0 * static_cast<double>(k) + kFirst;
    factor /= -((n + 1) * (n + 2));
  }
  return terms;
}

/// Computes sine and cosine of 2 pi v for v in [0, 1). v is reduced to [-1/8, 1/8] by quarter turns, exactly; the
/// Taylor series is then accurate to a bit or two.
template <class T>
void sin_cos_turn(Vec<T> v, Vec<T>& sine, Vec<T>& cosine) {
  constexpr std::size_t kTerms = sizeof(T) == 4 ? 5 : 9;
  static constexpr auto kSine = taylor<T, 1, kTerms>();
  static constexpr auto kCosine = taylor<T, 0, kTerms + 1>();
  const Vec<T> quarter = round(v * 4);
  const Vec<T> x = (v - quarter * T(0.25)) * (2 * std::numbers::pi_v<T>);
  const Vec<T> square = x * x;
  Vec<T> s(0);
  Vec<T> c(0);
  for (std::size_t k = kTerms; k-- > 0;) s = s * square + kSine[k];
  for (std::size_t k = kTerms + 1; k-- > 0;) c = c * square + kCosine[k];
  s = s * x;
  // After an odd number of quarter turns sine and cosine are exchanged; one of them changes its sign.
  const Vec<T> half = quarter * T(0.5);
  const auto odd = half != floor(half);
  const auto turned = [&](const Vec<T>& value, auto negative) { return where(negative, -value, value); };
  sine = turned(where(odd, c, s), (quarter == 2) | (quarter == 3));
  cosine = turned(where(odd, s, c), (quarter == 1) | (quarter == 2));
}

// The functions below convert the first `count` words of a chunk to numbers, a multiple of what its registers hold.

template <class T>
void uniform_chunk(const Fill& fill, const Words& words, std::int64_t count, T* out) {
  const Vec<T> low(static_cast<T>(fill.low));
  const Vec<T> width(static_cast<T>(fill.high - fill.low));
  const Vec<T> top(static_cast<T>(fill.top));
  for (std::int64_t i = 0; i < count; i += kLanes, out += Vec<T>::size) {
    const Vec<T> value = low + units_of<T>(words.words + i, fill.bits) * width;
    where(value < top, value, top).store(out);
  }
}

template <class T>
void exponential_chunk(const Fill& fill, const Words& words, std::int64_t count, T* out) {
  const Vec<T> mean(static_cast<T>(fill.high));
  for (std::int64_t i = 0; i < count; i += kLanes, out += Vec<T>::size) {
    const Vec<T> unit = units_of<T>(words.words + i, fill.bits);
    const Vec<T> value = where(unit == 0, Vec<T>(sizeof(T) == 4 ? 0x1p-25 : 0x1p-54), -log(1 - unit));
    (value * mean).store(out);
  }
}

template <class T>
void normal_chunk(const Fill& fill, const Words& words, std::int64_t count, T* out) {
  const Vec<T> mean(static_cast<T>(fill.low));
  const Vec<T> deviation(static_cast<T>(fill.high));
  for (std::int64_t i = 0; i < count; i += 2 * kLanes, out += 2 * Vec<T>::size) {
    const Vec<T> a = units_of<T>(words.words + i, fill.bits);
    const Vec<T> b = units_of<T>(words.words + i + kLanes, fill.bits);
    const Vec<T> radius = sqrt(-2 * log(1 - Vec<T>(every_second<0>(a.native(), b.native()))));
    Vec<T> sine;
    Vec<T> cosine;
    sin_cos_turn(Vec<T>(every_second<1>(a.native(), b.native())), sine, cosine);
    const Vec<T> first = mean + deviation * (radius * cosine);
    const Vec<T> second = mean + deviation * (radius * sine);
    Vec<T>(interleave<0>(first.native(), second.native())).store(out);
    Vec<T>(interleave<1>(first.native(), second.native())).store(out + Vec<T>::size);
  }
}

template <class T>
void integer_chunk(const Fill& fill, const Words& words, std::int64_t count, T* out) {
  const auto first = static_cast<std::uint64_t>(fill.first);
  if (fill.range > kLow) {
    for (std::int64_t i = 0; i < count; ++i) {
      const std::uint64_t w = words.words[i];
      out[i] = static_cast<T>(
          first + random::below(static_cast<std::uint32_t>(w), static_cast<std::uint32_t>(w >> 32), fill.range));
    }
    return;
  }
  const Lanes range = Lanes{} + fill.range;
  for (std::int64_t i = 0; i < count; i += kLanes) {
    Lanes w;
    std::memcpy(&w, words.words + i, sizeof(w));
    // The upper half of a 64 x 64 bit product, of which 32 bits are 0.
    const Lanes value = ((multiply_low(w, range) + (multiply_low(w >> 32, range) >> 32)) >> 32) + first;
    for (int k = 0; k < kLanes; ++k) out[i + k] = static_cast<T>(value[k]);
  }
}

void coin_chunk(const Fill& fill, const Words& words, std::int64_t count, bool* out) {
  if (fill.range > kLow) {
    std::fill_n(out, 2 * count, true);
    return;
  }
  const auto limit = static_cast<std::uint32_t>(fill.range);
  for (std::int64_t i = 0; i < count; ++i) {
    out[2 * i] = static_cast<std::uint32_t>(words.words[i]) < limit;
    out[2 * i + 1] = static_cast<std::uint32_t>(words.words[i] >> 32) < limit;
  }
}

template <class T>
void write_chunk(const Fill& fill, const Words& words, std::int64_t count, T* out) {
  if constexpr (std::is_same_v<T, bool>) {
    coin_chunk(fill, words, count, out);
  } else if constexpr (std::is_integral_v<T>) {
    integer_chunk(fill, words, count, out);
  } else if (fill.kind == Fill::Kind::Uniform) {
    uniform_chunk(fill, words, count, out);
  } else if (fill.kind == Fill::Kind::Exponential) {
    exponential_chunk(fill, words, count, out);
  } else {
    normal_chunk(fill, words, count, out);
  }
}

template <class T>
void fill(const Fill& fill, std::int64_t count, T* out) {
  constexpr std::int64_t kPerChunk = kChunk * random::kPerBlock<T>;
  Words words;
  for (std::int64_t at = 0; at < count; at += kPerChunk) {
    const std::uint64_t first = fill.offset + static_cast<std::uint64_t>(at / random::kPerBlock<T>);
    const std::int64_t rest = count - at;
    if (rest >= kPerChunk) {
      words.make(fill.seed, first, kChunk);
      write_chunk(fill, words, 2 * kChunk, out + at);
      continue;
    }
    constexpr std::int64_t kAtOnce = kLanes * kGroups * random::kPerBlock<T>;
    const std::int64_t counters = (rest + kAtOnce - 1) / kAtOnce * (kLanes * kGroups);
    words.make(fill.seed, first, counters);
    T numbers[kPerChunk];
    write_chunk(fill, words, 2 * counters, numbers);
    std::copy_n(numbers, rest, out + at);
  }
}

}  // namespace

void fill_random(RandomKernels& kernels) {
  kernels.float32 = &fill<float>;
  kernels.float64 = &fill<double>;
  kernels.coins = &fill<bool>;
  kernels.integer8 = &fill<std::uint8_t>;
  kernels.integer16 = &fill<std::uint16_t>;
  kernels.integer32 = &fill<std::uint32_t>;
  kernels.integer64 = &fill<std::uint64_t>;
}

}  // namespace lamella::cpu
