#pragma once

#include "ops/cuda/pack.h"
#include "ops/elementwise/cuda/args.h"
#include "ops/elementwise/cuda/table.h"
#include "ops/elementwise/formula.h"
#include "ops/elementwise/list.h"
#include "ops/movement/convert.h"
#include "ops/simd/complex.h"
#include "ops/simd/lane.h"

// The kernels around the formulas. Included by one source file per dtype.

namespace lamella::cuda {

/// Kernel W of Op on elements T: forward (-1), or the gradient of input W.
template <class Op, class T, int W>
struct ElementwiseKernel {
  /// The element type in memory of a result V of the formula.
  template <class V>
  using Stored = std::conditional_t<kIsHalf<T> && std::is_same_v<V, float>, T, V>;

  static constexpr unsigned kOperands = kKernelOperands<Op, W>;
  static constexpr int kCount = std::popcount(kOperands);
  static constexpr bool kHasMask = Op::kMaskInput && (kOperands & 1) != 0;
  /// A thread computes this many elements: 16 bytes of them, but no more than 8.
  static constexpr int kLanes = sizeof(T) == 1 ? 8 : 16 / static_cast<int>(sizeof(T));

  /// What the formula computes with: float16 and bfloat16 are stored, not computed with.
  using X = typename simd::OperandOf<simd::Lane, std::conditional_t<kIsHalf<T>, float, T>>::type;
  using Y = ForwardResult<Op, X>;
  using YElement = Stored<typename Y::value_type>;

  /// Element type of operand I in memory: an input, or the output and its gradient.
  template <int I>
  using Element =
      std::conditional_t<Op::kMaskInput && I == 0, bool, std::conditional_t<(I < Op::kInputs), T, YElement>>;

  /// What a thread has loaded: slot 0 of `values` is unused where operand 0 is a mask. The output of complex inputs may
  /// be real, and is no larger.
  struct Registers {
    T values[StridedLoop::kMaxOperands][kLanes];
    bool mask[kLanes];
    template <int I>
    __device__ Element<I>* slot() {
      if constexpr (Op::kMaskInput && I == 0) {
        return mask;
      } else {
        return reinterpret_cast<Element<I>*>(values[operand_slot(kOperands, I)]);
      }
    }
  };

  /// Hands the formula the operands of one element. Those that it does not read are never loaded.
  struct Source {
    Registers& registers;
    int lane;
    template <int I>
    __device__ auto at() const {
      using Operand = std::conditional_t<Op::kMaskInput && I == 0, typename X::mask_type,
                                         std::conditional_t<(I < Op::kInputs), X, Y>>;
      if constexpr ((kOperands >> I & 1) == 0) {
        return Operand{};
      } else if constexpr (kIsHalf<Element<I>>) {
        return Operand(convert<float>(registers.template slot<I>()[lane]));
      } else {
        return Operand(registers.template slot<I>()[lane]);
      }
    }
  };

  using Result = std::conditional_t<(W < 0), Y, X>;
  using Out = Stored<typename Result::value_type>;

  /// Element `lane`, rounded once.
  __device__ static Out result(const Source& source) {
    typename Result::value_type value;
    compute(source).store(&value);
    return convert<Out>(value);
  }
  __device__ static Result compute(const Source& source) {
    if constexpr (W < 0) {
      return apply_forward<Op>(source);
    } else {
      return apply_backward<Op, W>(source);
    }
  }

  /// Calls f.operator()<I, slot>() for each operand that the formula reads.
  template <int I = 0, class F>
  __device__ static void for_each_operand(F&& f) {
    if constexpr ((kOperands >> I) != 0) {
      if constexpr ((kOperands >> I & 1) != 0) f.template operator()<I, operand_slot(kOperands, I)>();
      for_each_operand<I + 1>(f);
    }
  }

  template <class E, int kSlot>
  __device__ static E repeated_value(const ElementwiseArgs& args) {
    if ((args.by_value >> kSlot & 1) == 0) return *reinterpret_cast<const E*>(args.in[kSlot]);
    E value;
    __builtin_memcpy(&value, &args.values[kSlot], sizeof value);
    return value;
  }

  /// Elements first .. first + kLanes, which lie beside one another.
  __device__ static void load_packed(const ElementwiseArgs& args, std::uint32_t first, Registers& to) {
    for_each_operand([&]<int I, int kSlot>() {
      using E = Element<I>;
      E* slot = to.template slot<I>();
      if (args.repeated >> kSlot & 1) {
        const E value = repeated_value<E, kSlot>(args);
#pragma unroll
        for (int k = 0; k < kLanes; ++k) slot[k] = value;
      } else {
        load_pack<E, kLanes>(reinterpret_cast<const E*>(args.in[kSlot]) + first, slot);
      }
    });
  }

  /// Element `index` of the loop, as lane `lane`; returns where its result goes.
  __device__ static std::int64_t load_strided(const ElementwiseArgs& args, std::uint32_t index, int lane,
                                              Registers& to) {
    std::int64_t offsets[1 + kCount];
    args.index.locate(index, offsets);
    for_each_operand([&]<int I, int kSlot>() {
      using E = Element<I>;
      to.template slot<I>()[lane] = args.by_value >> kSlot & 1
                                        ? repeated_value<E, kSlot>(args)
                                        : reinterpret_cast<const E*>(args.in[kSlot])[offsets[1 + kSlot]];
    });
    return offsets[0];
  }
};

/// A block computes kLanes elements for each of its threads. One copy of the formula serves packed and strided
/// operands.
template <class Kernel>
__global__ void __launch_bounds__(kElementwiseThreads) run_elementwise(const __grid_constant__ ElementwiseArgs args) {
  constexpr int kLanes = Kernel::kLanes;
  using Out = typename Kernel::Out;
  const std::uint32_t tile = blockIdx.x * (kElementwiseThreads * kLanes);
  // Strided neighbors go to neighboring threads, so that a warp reads neighboring memory.
  const std::uint32_t first = args.packed ? tile + threadIdx.x * kLanes : tile + threadIdx.x;
  const std::uint32_t step = args.packed ? 1 : kElementwiseThreads;
  const bool whole = args.packed && first + kLanes <= args.elements;

  typename Kernel::Registers registers;
  std::int64_t offsets[kLanes];
  if (whole) {
    Kernel::load_packed(args, first, registers);
  } else {
#pragma unroll
    for (int k = 0; k < kLanes; ++k) {
      if (first + k * step < args.elements) offsets[k] = Kernel::load_strided(args, first + k * step, k, registers);
    }
  }
  Out results[kLanes];
#pragma unroll
  for (int k = 0; k < kLanes; ++k) {
    if (whole || first + k * step < args.elements) {
      results[k] = Kernel::result(typename Kernel::Source{registers, k});
    }
  }
  Out* out = reinterpret_cast<Out*>(args.out);
  if (whole) {
    store_pack<Out, kLanes>(results, out + first);
  } else {
#pragma unroll
    for (int k = 0; k < kLanes; ++k) {
      if (first + k * step < args.elements) out[offsets[k]] = results[k];
    }
  }
}

template <class Op, class T, int W>
ElementwiseEntry make_entry() {
  using Kernel = ElementwiseKernel<Op, T, W>;
  ElementwiseEntry entry;
  entry.kernel = reinterpret_cast<const void*>(&run_elementwise<Kernel>);
  entry.lanes = Kernel::kLanes;
  entry.out_bytes = sizeof(typename Kernel::Out);
  for (int& bytes : entry.in_bytes) bytes = sizeof(T);
  if constexpr (W >= 0) {
    for (int i = Op::kInputs; i <= Op::kInputs + 1; ++i) {
      if (Kernel::kOperands >> i & 1)
        entry.in_bytes[operand_slot(Kernel::kOperands, i)] = sizeof(typename Kernel::YElement);
    }
  }
  if (Kernel::kHasMask) entry.in_bytes[0] = sizeof(bool);
  return entry;
}

template <class Op, class T, int W>
void fill_backward(ElementwiseTable& table, int row) {
  if constexpr (kHasBackward<Op, W> && !kReadsGradientAlone<Op, W>) {
    table.backward[row][W][static_cast<int>(dtype_of<T>)] = make_entry<Op, T, W>();
  }
}

template <class T>
void fill_elementwise(ElementwiseTable& table) {
  constexpr DType kDType = dtype_of<T>;
  static_assert(ElementwiseOps::size <= ElementwiseTable::kMaxOps);
  ElementwiseOps::for_each([&]<class Op>() {
    if constexpr (Op::info.dtypes.contains(kDType) && (Op::kInWiderDType || !kIsHalf<T>)) {
      constexpr int kRow = ElementwiseOps::index_of<Op>();
      table.forward[kRow][static_cast<int>(kDType)] = make_entry<Op, T, -1>();
      if constexpr (Differentiable.contains(kDType)) {
        fill_backward<Op, T, 0>(table, kRow);
        fill_backward<Op, T, 1>(table, kRow);
        fill_backward<Op, T, 2>(table, kRow);
        fill_backward<Op, T, 3>(table, kRow);
      }
    }
  });
}

}  // namespace lamella::cuda
