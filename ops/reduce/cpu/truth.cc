#include <cstdint>
#include <cstring>
#include <utility>

#include "ops/reduce/cpu/loops.h"
#include "ops/simd/any_lane.h"

namespace lamella::cpu {
namespace {

using simd::Native;

/// Elements of kPartCount words, which are true if a bit of kBits is set in one of them. The sign bit of a float is not
/// in kBits: -0.0 is false.
template <class WordType, WordType kValueBits, int kPartCount = 1>
struct Bits {
  using Word = WordType;
  static constexpr Word kBits = kValueBits;
  static constexpr int kParts = kPartCount;
};
template <class Word>
inline constexpr Word kAllBits = static_cast<Word>(~Word{0});
template <class Word>
inline constexpr Word kButTheSign = static_cast<Word>(kAllBits<Word> >> 1);

template <class E>
inline constexpr int kLanes = simd::kVectorBytes / static_cast<int>(sizeof(typename E::Word));
template <class E>
using Words = Native<typename E::Word>;

/// Searches for an element that settles the result: a true one for any, a false one for all.
template <class E, bool kAll>
struct Settling {
  static bool element(const typename E::Word* x) {
    typename E::Word bits = x[0];
    if constexpr (E::kParts == 2) bits |= x[1];
    return ((bits & E::kBits) == 0) == kAll;
  }

  /// Returns nonzero bits in the lanes of elements that settle the result.
  static Words<E> lanes(const typename E::Word* x) {
    Words<E> bits;
    std::memcpy(&bits, x, sizeof bits);
    if constexpr (E::kBits != kAllBits<typename E::Word>) bits &= simd::splat<Words<E>>(E::kBits);
    if constexpr (E::kParts == 2) bits |= neighbors(bits, std::make_index_sequence<kLanes<E>>());
    if constexpr (kAll) return reinterpret_cast<Words<E>>(bits == Words<E>{});
    return bits;
  }

 private:
  template <std::size_t... I>
  static Words<E> neighbors(Words<E> bits, std::index_sequence<I...>) {
    return __builtin_shufflevector(bits, bits, (static_cast<int>(I) ^ 1)...);
  }
};

template <class V>
bool any_bit(V bits) {
  return simd::any_lane(bits != V{});
}

template <class E, bool kAll>
bool is_settled(const typename E::Word* x, std::int64_t step, std::int64_t n) {
  using Look = Settling<E, kAll>;
  constexpr int kAtOnce = 4;
  std::int64_t i = 0;  // index in words
  const std::int64_t end = n * E::kParts;
  if (step == 1) {
    for (; i + kAtOnce * kLanes<E> <= end; i += kAtOnce * kLanes<E>) {
      Words<E> found{};
      for (int k = 0; k < kAtOnce; ++k) found |= Look::lanes(x + i + k * kLanes<E>);
      if (any_bit(found)) return true;
    }
    for (; i + kLanes<E> <= end; i += kLanes<E>) {
      if (any_bit(Look::lanes(x + i))) return true;
    }
  }
  bool found = false;
  for (; i < end; i += E::kParts) found |= Look::element(x + i * step);
  return found;
}

/// Searches kRows rows of a few words each, interleaved.
template <int kRows, class E, bool kAll>
void short_rows(const typename E::Word* x, std::int64_t n, std::int64_t row_step, bool* out) {
  bool found[kRows] = {};
  for (std::int64_t i = 0; i < n; ++i) {
    for (int k = 0; k < kRows; ++k) found[k] |= Settling<E, kAll>::element(x + (k * row_step + i) * E::kParts);
  }
  for (int k = 0; k < kRows; ++k) out[k] = found[k] != kAll;
}

template <class E, bool kAll>
void rows(const void* x, std::int64_t step, std::int64_t n, std::int64_t rows, std::int64_t row_step, void* out) {
  const auto* row = static_cast<const typename E::Word*>(x);
  auto* to = static_cast<bool*>(out);
  std::int64_t r = 0;
  if (step == 1 && n * E::kParts < kLanes<E>) {
    constexpr std::int64_t kRows = 4;
    for (; r + kRows <= rows; r += kRows)
      short_rows<kRows, E, kAll>(row + r * row_step * E::kParts, n, row_step, to + r);
  }
  for (; r < rows; ++r) {
    to[r] = is_settled<E, kAll>(row + r * row_step * E::kParts, step, n) != kAll;
  }
}

/// Searches kCount adjacent vectors of columns in n rows, `step` words apart.
template <int kCount, class E, bool kAll>
void column_vectors(const typename E::Word* x, std::int64_t step, std::int64_t n, bool* out) {
  Words<E> found[kCount] = {};
  for (std::int64_t r = 0; r < n; ++r) {
    for (int k = 0; k < kCount; ++k) found[k] |= Settling<E, kAll>::lanes(x + r * step + k * kLanes<E>);
  }
  typename E::Word words[kCount * kLanes<E>];
  std::memcpy(words, found, sizeof words);
  for (int k = 0; k < kCount * kLanes<E> / E::kParts; ++k) out[k] = (words[k * E::kParts] != 0) != kAll;
}

/// Searches the columns of adjacent rows of a few words, several of which fill a vector.
template <class E, bool kAll>
void narrow_columns(const typename E::Word* x, std::int64_t words, std::int64_t n, bool* out) {
  Words<E> found{};
  std::int64_t i = 0;
  for (; i + kLanes<E> <= n * words; i += kLanes<E>) found |= Settling<E, kAll>::lanes(x + i);
  typename E::Word of_lane[kLanes<E>];
  std::memcpy(of_lane, &found, sizeof of_lane);
  for (std::int64_t k = 0; k < words; k += E::kParts) {
    bool settled = false;
    for (std::int64_t lane = k; lane < kLanes<E>; lane += words) settled |= of_lane[lane] != 0;
    for (std::int64_t at = i + k; at < n * words; at += words) settled |= Settling<E, kAll>::element(x + at);
    out[k / E::kParts] = settled != kAll;
  }
}

template <class E, bool kAll>
void columns(const void* data, std::int64_t step, std::int64_t n, std::int64_t columns, void* out) {
  const auto* x = static_cast<const typename E::Word*>(data);
  auto* to = static_cast<bool*>(out);
  if (step == columns && kLanes<E> % (columns * E::kParts) == 0)
    return narrow_columns<E, kAll>(x, columns * E::kParts, n, to);
  constexpr std::int64_t kSize = kLanes<E> / E::kParts;
  std::int64_t c = 0;
  for (; c + 4 * kSize <= columns; c += 4 * kSize)
    column_vectors<4, E, kAll>(x + c * E::kParts, step * E::kParts, n, to + c);
  for (; c + kSize <= columns; c += kSize) column_vectors<1, E, kAll>(x + c * E::kParts, step * E::kParts, n, to + c);
  if (c == columns) return;
  bool settled[kSize] = {};
  for (std::int64_t r = 0; r < n; ++r) {
    for (std::int64_t k = c; k < columns; ++k)
      settled[k - c] |= Settling<E, kAll>::element(x + (r * step + k) * E::kParts);
  }
  for (std::int64_t k = c; k < columns; ++k) to[k] = settled[k - c] != kAll;
}

/// A 16-bit float; only its sign bit does not count, so that -0.0 is false.
struct Bits16 {
  std::uint16_t bits;
};

template <class T>
struct CountOp {
  using Acc = std::int64_t;
  static Acc identity() { return 0; }
  static Acc lift(T x) {
    if constexpr (std::is_same_v<T, Bits16>) {
      return (x.bits & 0x7fff) != 0;
    } else {
      return x != T{};
    }
  }
  static Acc combine(Acc a, Acc b) { return a + b; }
};

/// Sets the kernels of dtypes whose elements are E; T is their type in kernels that count.
template <class E, class T, class... D>
void fill(ReduceKernels& kernels, D... dtypes) {
  const auto set = [&](Reduction reduction, DType dtype, ReduceKernels::Rows of_rows,
                       ReduceKernels::Columns of_columns) {
    kernels.rows[static_cast<std::size_t>(reduction)][static_cast<std::size_t>(dtype)] = of_rows;
    kernels.columns[static_cast<std::size_t>(reduction)][static_cast<std::size_t>(dtype)] = of_columns;
  };
  ((set(Reduction::Any, dtypes, rows<E, false>, columns<E, false>),
    set(Reduction::All, dtypes, rows<E, true>, columns<E, true>),
    set_reduction<CountOp, T>(kernels, Reduction::Count, dtypes)),
   ...);
}

/// Sets the kernels of dtypes that are false if all bits of the unsigned T are zero.
template <class T, class... D>
void fill_integers(ReduceKernels& kernels, D... dtypes) {
  fill<Bits<T, kAllBits<T>>, T>(kernels, dtypes...);
}

}  // namespace

void fill_reduce_truth(ReduceKernels& kernels) {
  fill_integers<std::uint8_t>(kernels, DType::Bool, DType::Int8, DType::UInt8);
  fill_integers<std::uint16_t>(kernels, DType::Int16, DType::UInt16);
  fill_integers<std::uint32_t>(kernels, DType::Int32, DType::UInt32);
  fill_integers<std::uint64_t>(kernels, DType::Int64, DType::UInt64);
  fill<Bits<std::uint16_t, kButTheSign<std::uint16_t>>, Bits16>(kernels, DType::Float16, DType::BFloat16);
  fill<Bits<std::uint32_t, kButTheSign<std::uint32_t>>, float>(kernels, DType::Float32);
  fill<Bits<std::uint64_t, kButTheSign<std::uint64_t>>, double>(kernels, DType::Float64);
  fill<Bits<std::uint32_t, kButTheSign<std::uint32_t>, 2>, std::complex<float>>(kernels, DType::Complex64);
  fill<Bits<std::uint64_t, kButTheSign<std::uint64_t>, 2>, std::complex<double>>(kernels, DType::Complex128);
  // The maximum of bools is any(), the minimum all().
  const auto share = [&](Reduction extreme, Reduction truth) {
    constexpr auto kBool = static_cast<std::size_t>(DType::Bool);
    const auto to = static_cast<std::size_t>(extreme);
    const auto from = static_cast<std::size_t>(truth);
    kernels.rows[to][kBool] = kernels.rows[from][kBool];
    kernels.columns[to][kBool] = kernels.columns[from][kBool];
  };
  share(Reduction::Max, Reduction::Any);
  share(Reduction::Min, Reduction::All);
}

}  // namespace lamella::cpu
