#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>

#include "ops/cpu/stepped_rows.h"
#include "ops/cpu/stream.h"
#include "ops/cpu/tables/elementwise.h"
#include "ops/elementwise/cpu/few.h"
#include "ops/elementwise/formula.h"
#include "ops/simd/convert.h"
#include "ops/simd/vec.h"

// The loops around the formulas of CPU kernels. Included by the generated instances; see cmake/elementwise.cmake.

// Note [Blocks]
// A kernel has a single copy of its formula, for operands that are contiguous or repeated; a repeated
// element becomes a vector of it. The last vector of a row may overlap the one before it. Other operands, and rows
// shorter than a vector, are first copied into blocks in the L1 cache by code that all operators of a dtype share.
// Blocks that are filled by vectors are short, so that the operands are read in turns: with runs of 4 KiB the hardware
// prefetcher fetches data after the end of one operand while the loop waits for another. Blocks that are filled or
// emptied one element at a time are longer, because a vector load has to wait for the stores of its elements.

// Note [Short formulas]
// An operator that computes next to nothing is limited by its loads and stores. With every second
// element, copying through blocks adds a store and a load per operand; with short rows, starting a row takes longer
// than computing it. Such operators have a second copy of their formula, which selects every second element in
// registers and goes from row to row.

namespace lamella::cpu {

/// Returns the value that pads an operand.
template <class T>
constexpr T one() {
  if constexpr (kIsHalf<T>) {
    return T(1.0f);
  } else {
    return T(1);
  }
}

/// An operand of the loop: its vector type and its element type in memory.
template <class T, class V>
struct Memory {
  using element = T;
  using vector = V;
};

/// Copies n elements of an operand into a contiguous block, padded with 1 up to `padded`; every formula is defined at
/// 1.
template <class T>
[[gnu::noinline]] void gather_block(const T* from, std::int64_t stride, std::int64_t n, std::int64_t padded, T* to) {
  if (stride == 0) {
    std::fill_n(to, n, *from);
  } else if (stride == 1) {
    std::copy_n(from, n, to);
  } else if (stride == -1) {
    copy_backwards<T>(reinterpret_cast<char*>(to), reinterpret_cast<const char*>(from), n);
  } else if (stride == 2) {
    copy_every_second<T>(reinterpret_cast<char*>(to), reinterpret_cast<const char*>(from), n);
  } else {
    for (std::int64_t i = 0; i < n; ++i) to[i] = from[i * stride];
  }
  std::fill_n(to + n, padded - n, one<T>());
}

template <class T>
[[gnu::noinline]] void scatter_block(const T* from, std::int64_t n, T* to, std::int64_t stride) {
  for (std::int64_t i = 0; i < n; ++i) to[i * stride] = from[i];
}

/// Loads every second element from `from` on; reads nothing after the last of them.
template <class T>
simd::Vec<T> load_every_second(const T* from) {
  constexpr int kLanes = simd::Vec<T>::size;
  const auto a = simd::Vec<T>::load(from).native();
  const auto b = simd::Vec<T>::load(from + kLanes - 1).native();
  return [&]<int... I>(std::integer_sequence<int, I...>) {
    return simd::Vec<T>(__builtin_shufflevector(a, b, (I < kLanes / 2 ? 2 * I : 2 * I + 1)...));
  }(std::make_integer_sequence<int, kLanes>());
}

/// The loops over rows and blocks around formulas on vectors of kLanes elements, with operands of the types Elements
/// and results of the type Out. All formulas of a dtype with the same types share them: compiled for each formula, they
/// would take longer than the formulas.
template <class T, int kLanes, class Out, class... Elements>
struct BlockLoops {
  static constexpr int kCount = sizeof...(Elements);
  template <int kSlot>
  using ElementOf = std::tuple_element_t<kSlot, std::tuple<Elements...>>;
  static constexpr std::int64_t kBlockBytes = 4096;
  static constexpr std::int64_t kShortBlockBytes = 1024;
  static constexpr std::int64_t kBlock = kBlockBytes / static_cast<std::int64_t>(sizeof(T));
  static constexpr std::int64_t kShortBlock = kShortBlockBytes / static_cast<std::int64_t>(sizeof(T));
  /// True if a machine vector holds exactly kLanes elements of type E and masked moves support them.
  template <class E>
  static constexpr bool kFewAtOnce = kMovesFew<E> && std::is_arithmetic_v<E> && kLanes * sizeof(E) == LM_SIMD_BYTES;
  static_assert(sizeof(Out) <= sizeof(T));

  struct Formula {
    /// Computes n elements, a multiple of the lanes.
    void (*compute_run)(const char* const* operands, const std::int64_t* steps, Out* out, std::int64_t n);
    /// Computes rows as Note [Short formulas] says; null for a formula that is not short.
    void (*run_stepped)(const Loop& loop);
  };

  /// Runs a single contiguous row directly, the most common call.
  [[gnu::flatten, gnu::noinline]] static void run(const Loop& loop, const Formula& formula) {
    bool flat = loop.out_inner == 1 && loop.outer == 1 && !streams(loop);
    for (int k = 0; k < kCount; ++k) flat &= loop.in_inner[k] == 1;
    if (!flat) return run_rows(loop, formula);
    const std::int64_t whole = loop.inner - loop.inner % kLanes;
    auto* const out = reinterpret_cast<Out*>(loop.out);
    if (whole > 0) formula.compute_run(loop.in, kSteps.data(), out, whole);
    if (whole < loop.inner) {
      Blocks blocks;
      run_block(loop, formula, loop.in, kSteps.data(), out, whole, kBlock, blocks);
    }
  }

  /// Sets in[k] to the first element of row j of each operand.
  static void locate(const Loop& loop, std::int64_t j, const char** in) {
    constexpr std::int64_t kSizes[] = {sizeof(Elements)...};
    for (int k = 0; k < kCount; ++k) in[k] = loop.in[k] + j * loop.in_outer[k] * kSizes[k];
  }

 private:
  struct Blocks {
    alignas(64) char memory[kCount + 1][kBlockBytes];
    /// Address of the element that fills each operand's block, or null.
    const char* repeated[kCount] = {};
  };

  /// Bytes per step of each operand if it is contiguous.
  static constexpr std::array<std::int64_t, kCount> kSteps{kLanes * sizeof(Elements)...};

  [[gnu::noinline]] static void run_rows(const Loop& loop, const Formula& formula) {
    bool dense = loop.out_inner == 1;
    for (int k = 0; k < kCount; ++k) dense &= loop.in_inner[k] == 1;
    const std::int64_t* steps = kSteps.data();
    std::array<std::int64_t, kCount> own;
    std::int64_t most = kBlock;
    bool by_vectors = loop.out_inner == 1;
    bool second = false;
    if (!dense) {
      own = kSteps;
      for (int k = 0; k < kCount; ++k) {
        const std::int64_t stride = loop.in_inner[k];
        if (stride == 0) own[k] = 0;
        by_vectors &= static_cast<std::uint64_t>(stride) <= 2;
        second |= stride == 2;
      }
      if (by_vectors) most = second || streams(loop) ? kShortBlock : loop.inner;
      steps = own.data();
    }
    const bool fills_vectors = by_vectors && loop.inner >= kLanes && !streams(loop);
    if (formula.run_stepped) {
      const bool short_rows = loop.outer > 1 && loop.inner <= kShortBlock;
      if (fills_vectors && (second || short_rows)) return formula.run_stepped(loop);
    }
    const std::int64_t rest = fills_vectors && !second ? loop.inner % kLanes : 0;
    const std::int64_t whole = dense && !streams(loop) ? loop.inner - loop.inner % kLanes : 0;
    Blocks blocks;
    for (std::int64_t j = 0; j < loop.outer; ++j) {
      auto* const out = reinterpret_cast<Out*>(loop.out) + j * loop.out_outer;
      const char* in[kCount];
      locate(loop, j, in);
      if (rest > 0) compute_end(loop, formula, in, steps, blocks);
      if (whole > 0) formula.compute_run(in, steps, out, whole);
      for (std::int64_t i = whole; i < loop.inner - rest;)
        i += run_block(loop, formula, in, steps, out, i, most, blocks);
      if (rest > 0) std::memcpy(out + loop.inner - kLanes, blocks.memory[kCount], kLanes * sizeof(Out));
    }
    if (streams(loop)) end_stream();
  }

  /// Computes the last vector of a row into its block. It overlaps the vector before it and is computed before that is
  /// written, because the row may be written where it is read.
  static void compute_end(const Loop& loop, const Formula& formula, const char* const* row, const std::int64_t* steps,
                          Blocks& blocks) {
    const char* in[kCount];
    bring<0>(loop, row, loop.inner - kLanes, kLanes, kLanes, blocks, in);
    formula.compute_run(in, steps, reinterpret_cast<Out*>(blocks.memory[kCount]), kLanes);
  }

  static bool streams(const Loop& loop) { return kStreams && loop.streams; }

  /// Computes at most `most` elements from element i on; returns their number.
  static std::int64_t run_block(const Loop& loop, const Formula& formula, const char* const* row,
                                const std::int64_t* steps, Out* out, std::int64_t i, std::int64_t most,
                                Blocks& blocks) {
    std::int64_t n = std::min(most, loop.inner - i);
    if (n > kLanes) n -= n % kLanes;  // the remainder becomes a block of its own
    const std::int64_t padded = n < kLanes ? kLanes : n;
    const char* in[kCount];
    bring<0>(loop, row, i, n, padded, blocks, in);
    const bool direct = loop.out_inner == 1 && n == padded;
    if (direct && !streams(loop)) {
      formula.compute_run(in, steps, out + i, n);
    } else {
      auto* const results = reinterpret_cast<Out*>(blocks.memory[kCount]);
      formula.compute_run(in, steps, results, padded);
      if (direct) {
        stream_block(results, n * static_cast<std::int64_t>(sizeof(Out)), out + i);
        return n;
      }
      if constexpr (kFewAtOnce<Out>) {
        if (loop.out_inner == 1 && n < kLanes) {
          scatter_few(results, n, out + i);
          return n;
        }
      }
      scatter_block(results, n, out + i * loop.out_inner, loop.out_inner);
    }
    return n;
  }

  /// Sets in[k] to the operands' elements from i on, in place or copied to their blocks.
  template <int kSlot>
  static void bring(const Loop& loop, const char* const* row, std::int64_t i, std::int64_t n, std::int64_t padded,
                    Blocks& blocks, const char** in) {
    if constexpr (kSlot < kCount) {
      using Element = ElementOf<kSlot>;
      const std::int64_t stride = loop.in_inner[kSlot];
      const char* const from = row[kSlot] + i * stride * static_cast<std::int64_t>(sizeof(Element));
      const auto* const elements = reinterpret_cast<const Element*>(from);
      auto* const block = reinterpret_cast<Element*>(blocks.memory[kSlot]);
      in[kSlot] = stride == 1 && n == padded ? from : blocks.memory[kSlot];
      if (stride == 0) {
        if (blocks.repeated[kSlot] != from) {
          repeat(*elements, block);
          blocks.repeated[kSlot] = from;
        }
      } else if (in[kSlot] != from) {
        bring_side_by_side(elements, stride, n, padded, block);
      }
      bring<kSlot + 1>(loop, row, i, n, padded, blocks, in);
    }
  }

  template <class Element>
  static void bring_side_by_side(const Element* from, std::int64_t stride, std::int64_t n, std::int64_t padded,
                                 Element* block) {
    if constexpr (kFewAtOnce<Element>) {
      if (n < kLanes && stride == 1) return gather_few(from, n, one<Element>(), block);
      if (n < kLanes && stride == 2) return gather_few_apart(from, n, one<Element>(), block);
    }
    gather_block(from, stride, n, padded, block);
  }

  /// Fills a vector with one element.
  template <class Element>
  static void repeat(const Element& element, Element* block) {
    if constexpr (std::is_same_v<Element, bool>) {
      std::memset(block, element, kLanes);
    } else if constexpr (kIsHalf<Element>) {
      fill_vector(std::bit_cast<std::uint16_t>(element), block);
    } else if constexpr (std::is_arithmetic_v<Element>) {
      fill_vector(element, block);
    } else {
      gather_block(&element, 0, kLanes, kLanes, block);
    }
  }
  template <class Word>
  static void fill_vector(Word word, void* block) {
    const auto words = simd::splat<simd::Native<Word, kLanes * sizeof(Word)>>(word);
    std::memcpy(block, &words, sizeof words);
  }
};

/// Kernel W of Op on elements T, computed on vectors V: forward (-1), or the gradient of input W. See Note [Blocks].
template <class Op, class T, int W, class V = typename simd::OperandOf<simd::Vec, T>::type>
struct ElementwiseKernel {
  static constexpr unsigned kOperands = kKernelOperands<Op, W>;
  static constexpr int kCount = std::popcount(kOperands);
  using X = V;
  using Y = ForwardResult<Op, X>;
  static_assert(std::is_same_v<typename X::value_type, T>);
  static constexpr int kLanes = X::size;

  template <int I>
  using MemoryOf =
      std::conditional_t<Op::kMaskInput && I == 0, Memory<bool, typename X::mask_type>,
                         std::conditional_t<(I < Op::kInputs), Memory<T, X>, Memory<typename Y::value_type, Y>>>;

  /// Passes one step's operands to the formula; operands that it does not read are never loaded.
  struct Source {
    const char* const* in;
    template <int I>
    auto at() const {
      using M = MemoryOf<I>;
      if constexpr ((kOperands >> I & 1) == 0) {
        return typename M::vector{};
      } else {
        return M::vector::load(reinterpret_cast<const typename M::element*>(in[operand_slot(kOperands, I)]));
      }
    }
  };

  template <class From>
  static auto compute(const From& source) {
    if constexpr (W < 0) {
      return apply_forward<Op>(source);
    } else {
      return apply_backward<Op, W>(source);
    }
  }

  using Out = typename decltype(compute(std::declval<Source>()))::value_type;

  /// See Note [Short formulas].
  static constexpr bool kIsShort =
      W < 0 && has_short_formulas(dtype_of<T>) && Op::kShortFormula && std::is_same_v<X, simd::Vec<T>>;

  using Loops = typename decltype([]<int... kSlot>(std::integer_sequence<int, kSlot...>) {
    return std::type_identity<
        BlockLoops<T, kLanes, Out, typename MemoryOf<operand_at(kOperands, kSlot)>::element...>>();
  }(std::make_integer_sequence<int, kCount>()))::type;

  /// Passes operands to the formula that are contiguous, every second element, or repeated.
  struct SteppedSource {
    const char* const* in;
    const std::int64_t* strides;
    const X* repeated;
    template <int I>
    X at() const {
      constexpr int kSlot = operand_slot(kOperands, I);
      if (strides[kSlot] == 0) return repeated[kSlot];
      const auto* const from = reinterpret_cast<const T*>(in[kSlot]);
      return strides[kSlot] == 2 ? load_every_second(from) : X::load(from);
    }
  };

  static void run(const Loop& loop) { Loops::run(loop, kFormula); }

 private:
  /// Computes rows of at least one vector whose operands are contiguous, every second element or repeated; see Note
  /// [Short formulas]. The last vector of a row may overlap the one before it. It is computed first, because the row
  /// may be written where it is read.
  [[gnu::noinline]] static void run_stepped(const Loop& loop) {
    constexpr auto kSize = static_cast<std::int64_t>(sizeof(T));
    const std::int64_t last = loop.inner - kLanes;
    const bool overlaps = last % kLanes != 0;
    const std::int64_t whole = overlaps ? last : loop.inner;
    std::int64_t strides[kCount];
    std::int64_t steps[kCount];
    X repeated[kCount] = {};
    for (int k = 0; k < kCount; ++k) {
      strides[k] = loop.in_inner[k];
      steps[k] = strides[k] * kLanes * kSize;
    }
    for (std::int64_t j = 0; j < loop.outer; ++j) {
      auto* const out = reinterpret_cast<T*>(loop.out) + j * loop.out_outer;
      const char* in[kCount];
      Loops::locate(loop, j, in);
      for (int k = 0; k < kCount; ++k) {
        if (strides[k] == 0) repeated[k] = X(*reinterpret_cast<const T*>(in[k]));
      }
      X end{};
      if (overlaps) {
        const char* at_last[kCount];
        for (int k = 0; k < kCount; ++k) at_last[k] = in[k] + last * strides[k] * kSize;
        end = compute(SteppedSource{at_last, strides, repeated});
      }
      for (std::int64_t i = 0; i < whole; i += kLanes) {
        compute(SteppedSource{in, strides, repeated}).store(out + i);
        for (int k = 0; k < kCount; ++k) in[k] += steps[k];
      }
      if (overlaps) end.store(out + last);
    }
  }

  /// Computes n elements, a multiple of the lanes. Holds the only copy of a formula that is not short.
  [[gnu::noinline]] static void compute_run(const char* const* operands, const std::int64_t* steps, Out* out,
                                            std::int64_t n) {
    const char* in[kCount];
    std::int64_t step[kCount];
    for (int k = 0; k < kCount; ++k) {
      in[k] = operands[k];
      step[k] = steps[k];
    }
    for (std::int64_t i = 0; i < n; i += kLanes) {
      compute(Source{in}).store(out + i);
      for (int k = 0; k < kCount; ++k) in[k] += step[k];
    }
  }

  static constexpr typename Loops::Formula kFormula = [] {
    if constexpr (kIsShort) {
      return typename Loops::Formula{compute_run, run_stepped};
    } else {
      return typename Loops::Formula{compute_run, nullptr};
    }
  }();
};

template <class Op, class T, int W>
void fill_backward(ElementwiseTable& table, int row) {
  if constexpr (kHasBackward<Op, W> && !kReadsGradientAlone<Op, W>) {
    table.backward[row][W][static_cast<int>(dtype_of<T>)] = &ElementwiseKernel<Op, T, W>::run;
  }
}

template <class T, class Ops>
void fill_elementwise(ElementwiseTable& table, int first) {
  constexpr DType kDType = dtype_of<T>;
  Ops::for_each([&]<class Op> {
    if constexpr (Op::info.dtypes.contains(kDType)) {
      const int row = first + Ops::template index_of<Op>();
      table.forward[row][static_cast<int>(kDType)] = &ElementwiseKernel<Op, T, -1>::run;
      if constexpr (Differentiable.contains(kDType)) {
        fill_backward<Op, T, 0>(table, row);
        fill_backward<Op, T, 1>(table, row);
        fill_backward<Op, T, 2>(table, row);
        fill_backward<Op, T, 3>(table, row);
      }
    }
  });
}

}  // namespace lamella::cpu
