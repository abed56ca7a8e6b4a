#pragma once

#include "ops/cpu/elementwise_table.h"
#include "ops/elementwise/formula.h"
#include "ops/elementwise/list.h"
#include "ops/movement/convert.h"
#include "ops/simd/vec.h"

// The loops around the formulas. Included by one source file per dtype.

namespace lamella::cpu {

/// An operand of the loop: what it is loaded as, and its element type in memory.
template <class T, class V>
struct Memory {
  using element = T;
  using vector = V;
  static vector splat(T value) { return vector(value); }
};

/// Dtypes that are seldom computed with have one copy of each formula in place of three, for dense and strided operands
/// and for the tail: the compiler takes a third of the time.
template <class T>
inline constexpr bool kCompact = kIsComplex<T> || std::is_same_v<T, std::uint64_t>;

/// Kernel W of Op on elements T: forward (-1), or the gradient of input W.
template <class Op, class T, int W>
struct ElementwiseKernel {
  static constexpr unsigned kOperands = kKernelOperands<Op, W>;
  static constexpr int kCount = std::popcount(kOperands);
  using X = typename simd::OperandOf<simd::Vec, T>::type;
  using Y = ForwardResult<Op, X>;
  static constexpr int kLanes = X::size;

  template <int I>
  using MemoryOf =
      std::conditional_t<Op::kMaskInput && I == 0, Memory<bool, typename X::mask_type>,
                         std::conditional_t<(I < Op::kInputs), Memory<T, X>, Memory<typename Y::value_type, Y>>>;

  /// Hands the formula the operands of one step. Those that it does not read are never loaded.
  struct Contiguous {
    const char* const* in;
    std::int64_t at_element;
    template <int I>
    auto at() const {
      using M = MemoryOf<I>;
      if constexpr ((kOperands >> I & 1) == 0) {
        return typename M::vector{};
      } else {
        return M::vector::load(reinterpret_cast<const typename M::element*>(in[operand_slot(kOperands, I)]) +
                               at_element);
      }
    }
  };
  struct Strided {
    const char* const* in;
    const std::int64_t* strides;
    std::int64_t at_element;
    int lanes;
    template <int I>
    auto at() const {
      using M = MemoryOf<I>;
      if constexpr ((kOperands >> I & 1) == 0) {
        return typename M::vector{};
      } else {
        constexpr int kSlot = operand_slot(kOperands, I);
        const std::int64_t stride = strides[kSlot];
        const auto* from = reinterpret_cast<const typename M::element*>(in[kSlot]) + at_element * stride;
        if (stride == 0) return M::splat(*from);
        // The lanes beyond the end hold 1, which every formula can compute with.
        if (lanes < kLanes) return M::vector::load_strided_partial(from, stride, lanes, true);
        return stride == 1 ? M::vector::load(from) : M::vector::load_strided(from, stride);
      }
    }
  };

  template <class Source>
  static auto compute(const Source& source) {
    if constexpr (W < 0) {
      return apply_forward<Op>(source);
    } else {
      return apply_backward<Op, W>(source);
    }
  }

  using Result = decltype(compute(std::declval<Contiguous>()));
  using Out = typename Result::value_type;

  static void run(const Loop& loop) {
    const char* in[kCount];
    bool contiguous = loop.out_inner == 1;
    for (int k = 0; k < kCount; ++k) contiguous &= loop.in_inner[k] == 1;
    for (std::int64_t j = 0; j < loop.outer; ++j) {
      auto* out = reinterpret_cast<Out*>(loop.out) + j * loop.out_outer;
      locate<0>(in, loop, j);
      if constexpr (kCompact<T>) {
        run_row_compact(loop, in, out);
      } else {
        run_row(loop, in, out, contiguous);
      }
    }
  }

 private:
  static void run_row(const Loop& loop, const char* const* in, Out* out, bool contiguous) {
    std::int64_t i = 0;
    if (contiguous) {
      for (; i + kLanes <= loop.inner; i += kLanes) compute(Contiguous{in, i}).store(out + i);
    } else {
      for (; i + kLanes <= loop.inner; i += kLanes) {
        const Result result = compute(Strided{in, loop.in_inner, i, kLanes});
        if (loop.out_inner == 1) {
          result.store(out + i);
        } else {
          result.store_strided(out + i * loop.out_inner, loop.out_inner);
        }
      }
    }
    if (i < loop.inner) {
      const int rest = static_cast<int>(loop.inner - i);
      const Result result = compute(Strided{in, loop.in_inner, i, rest});
      result.store_strided_partial(out + i * loop.out_inner, loop.out_inner, rest);
    }
  }

  static void run_row_compact(const Loop& loop, const char* const* in, Out* out) {
    for (std::int64_t i = 0; i < loop.inner; i += kLanes) {
      const int lanes = loop.inner - i < kLanes ? static_cast<int>(loop.inner - i) : kLanes;
      const Result result = compute(Strided{in, loop.in_inner, i, lanes});
      if (loop.out_inner == 1 && lanes == kLanes) {
        result.store(out + i);
      } else {
        result.store_strided_partial(out + i * loop.out_inner, loop.out_inner, lanes);
      }
    }
  }

  /// The first elements of row j.
  template <int I>
  static void locate(const char** in, const Loop& loop, std::int64_t j) {
    if constexpr (kOperands >> I) {
      if constexpr (kOperands >> I & 1) {
        constexpr int kSlot = operand_slot(kOperands, I);
        in[kSlot] = loop.in[kSlot] +
                    j * loop.in_outer[kSlot] * static_cast<std::int64_t>(sizeof(typename MemoryOf<I>::element));
      }
      locate<I + 1>(in, loop, j);
    }
  }
};

template <class Op, class T, int W>
void fill_backward(ElementwiseTable& table, int row) {
  if constexpr (kHasBackward<Op, W> && !kReadsGradientAlone<Op, W>) {
    table.backward[row][W][static_cast<int>(dtype_of<T>)] = &ElementwiseKernel<Op, T, W>::run;
  }
}

template <class T>
void fill_elementwise(ElementwiseTable& table) {
  constexpr DType kDType = dtype_of<T>;
  static_assert(ElementwiseOps::size <= ElementwiseTable::kMaxOps);
  ElementwiseOps::for_each([&]<class Op> {
    if constexpr (Op::info.dtypes.contains(kDType)) {
      constexpr int kRow = ElementwiseOps::index_of<Op>();
      table.forward[kRow][static_cast<int>(kDType)] = &ElementwiseKernel<Op, T, -1>::run;
      if constexpr (Differentiable.contains(kDType)) {
        fill_backward<Op, T, 0>(table, kRow);
        fill_backward<Op, T, 1>(table, kRow);
        fill_backward<Op, T, 2>(table, kRow);
      }
    }
  });
}

}  // namespace lamella::cpu
