#pragma once

#include "ops/cuda/pack.h"
#include "ops/elementwise/cuda/args.h"
#include "ops/elementwise/cuda/float_bits.h"
#include "ops/elementwise/cuda/table.h"
#include "ops/elementwise/formula.h"
#include "ops/elementwise/lists/either_sign.h"
#include "ops/simd/complex.h"
#include "ops/simd/convert.h"
#include "ops/simd/lane.h"

// The kernels around the formulas. Included by the generated instances; see cmake/elementwise.cmake.

namespace lamella::cuda {

/// Calls f.operator()<E>() with the type E in which floats are stored.
template <class F>
__device__ void with_stored(Stored stored, F&& f) {
  switch (stored) {
    case Stored::AsFloat32:
      return f.template operator()<float>();
    case Stored::AsFloat16:
      return f.template operator()<Half>();
    case Stored::AsBFloat16:
      return f.template operator()<BFloat16>();
  }
}

/// Loads `n` neighboring elements from index `first` on; floats are converted from their stored type.
template <int n, class E>
__device__ void load_elements(Stored stored, const char* from, std::uint32_t first, E* to) {
  if constexpr (std::is_same_v<E, float>) {
    with_stored(stored, [&]<class S>() {
      S elements[n];
      load_pack<S, n>(reinterpret_cast<const S*>(from) + first, elements);
#pragma unroll
      for (int k = 0; k < n; ++k) to[k] = convert<float>(elements[k]);
    });
  } else {
    load_pack<E, n>(reinterpret_cast<const E*>(from) + first, to);
  }
}
template <int n, class E>
__device__ void store_elements(Stored stored, const E* from, char* to, std::uint32_t first) {
  if constexpr (std::is_same_v<E, float>) {
    with_stored(stored, [&]<class S>() {
      S elements[n];
#pragma unroll
      for (int k = 0; k < n; ++k) elements[k] = convert<S>(from[k]);
      store_pack<S, n>(elements, reinterpret_cast<S*>(to) + first);
    });
  } else {
    store_pack<E, n>(from, reinterpret_cast<E*>(to) + first);
  }
}

/// Loads one element; floats are converted from their stored type.
template <class E>
__device__ E load_element(Stored stored, const char* from, std::int64_t index) {
  if constexpr (std::is_same_v<E, float>) {
    float value = 0;
    with_stored(stored, [&]<class S>() { value = convert<float>(reinterpret_cast<const S*>(from)[index]); });
    return value;
  } else {
    return reinterpret_cast<const E*>(from)[index];
  }
}
template <class E>
__device__ void store_element(Stored stored, E value, char* to, std::int64_t index) {
  if constexpr (std::is_same_v<E, float>) {
    with_stored(stored, [&]<class S>() { reinterpret_cast<S*>(to)[index] = convert<S>(value); });
  } else {
    reinterpret_cast<E*>(to)[index] = value;
  }
}

/// Kernel W of Op on elements T: forward (-1), or the gradient of input W.
template <class Op, class T, int W>
struct ElementwiseKernel {
  static constexpr unsigned kOperands = kKernelOperands<Op, W>;
  static constexpr int kCount = std::popcount(kOperands);
  static constexpr bool kHasMask = Op::kMaskInput && (kOperands & 1) != 0;
  /// Number of elements per thread: 16 bytes of them, but at most 8.
  static constexpr int kLanes = sizeof(T) == 1 ? 8 : 16 / static_cast<int>(sizeof(T));

  /// Operand type of the formula.
  using X = typename simd::OperandOf<simd::Lane, T>::type;
  using Y = ForwardResult<Op, X>;
  using YElement = typename Y::value_type;

  /// Element type of operand I as computed with: an input's, or that of the output and its gradient.
  template <int I>
  using Element =
      std::conditional_t<Op::kMaskInput && I == 0, bool, std::conditional_t<(I < Op::kInputs), T, YElement>>;

  /// The operands that a thread has loaded. Slot 0 of `values` is unused if operand 0 is a mask. The output of complex
  /// inputs may be real, which takes no more space.
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

  /// Passes one element's operands to the formula; operands that it does not read are never loaded.
  struct Source {
    Registers& registers;
    int lane;
    template <int I>
    __device__ auto at() const {
      using Operand = std::conditional_t<Op::kMaskInput && I == 0, typename X::mask_type,
                                         std::conditional_t<(I < Op::kInputs), X, Y>>;
      if constexpr ((kOperands >> I & 1) == 0) {
        return Operand{};
      } else {
        return Operand(registers.template slot<I>()[lane]);
      }
    }
  };

  using Result = std::conditional_t<(W < 0), Y, X>;
  using Out = typename Result::value_type;

  /// Returns the result of one element.
  __device__ static Out result(const Source& source) {
    Out value;
    compute(source).store(&value);
    return value;
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
    const bool by_value = args.by_value >> kSlot & 1;
    return load_element<E>(args.stored, by_value ? reinterpret_cast<const char*>(args.values[kSlot]) : args.in[kSlot],
                           0);
  }

  /// Loads the contiguous elements first .. first + kLanes.
  __device__ static void load_packed(const ElementwiseArgs& args, std::uint32_t first, Registers& to) {
    for_each_operand([&]<int I, int kSlot>() {
      using E = Element<I>;
      E* slot = to.template slot<I>();
      if (args.repeated >> kSlot & 1) {
        const E value = repeated_value<E, kSlot>(args);
#pragma unroll
        for (int k = 0; k < kLanes; ++k) slot[k] = value;
      } else {
        load_elements<kLanes>(args.stored, args.in[kSlot], first, slot);
      }
    });
  }

  /// Loads element `index` of the loop into lane `lane`; returns the offset of its result.
  __device__ static std::int64_t load_strided(const ElementwiseArgs& args, std::uint32_t index, int lane,
                                              Registers& to) {
    std::int64_t offsets[1 + kCount];
    args.index.locate(index, offsets);
    for_each_operand([&]<int I, int kSlot>() {
      using E = Element<I>;
      to.template slot<I>()[lane] = args.by_value >> kSlot & 1
                                        ? repeated_value<E, kSlot>(args)
                                        : load_element<E>(args.stored, args.in[kSlot], offsets[1 + kSlot]);
    });
    return offsets[0];
  }
};

/// Computes kLanes elements per thread. One copy of the formula serves packed and strided operands.
template <class Kernel>
__global__ void __launch_bounds__(kElementwiseThreads) run_elementwise(const __grid_constant__ ElementwiseArgs args) {
  constexpr int kLanes = Kernel::kLanes;
  using Out = typename Kernel::Out;
  const std::uint32_t tile = blockIdx.x * (kElementwiseThreads * kLanes);
  // In strided loops neighboring elements go to neighboring threads, so that a warp reads neighboring memory.
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
  if (whole) {
    store_elements<kLanes>(args.stored, results, args.out, first);
  } else {
#pragma unroll
    for (int k = 0; k < kLanes; ++k) {
      if (first + k * step < args.elements) store_element(args.stored, results[k], args.out, offsets[k]);
    }
  }
}

/// Returns the size in memory of an element E of a kernel for `dtype`.
template <class E>
constexpr int stored_bytes(DType dtype) {
  return std::is_same_v<E, float> && dtype != DType::Float32 ? static_cast<int>(sizeof(Half))
                                                             : static_cast<int>(sizeof(E));
}

template <class Op, class T, int W>
ElementwiseEntry make_entry(DType dtype) {
  using Kernel = ElementwiseKernel<Op, T, W>;
  ElementwiseEntry entry;
  entry.kernel = &run_elementwise<Kernel>;
  entry.lanes = Kernel::kLanes;
  entry.out_bytes = stored_bytes<typename Kernel::Out>(dtype);
  for (int& bytes : entry.in_bytes) bytes = stored_bytes<T>(dtype);
  if constexpr (W >= 0) {
    for (int i = Op::kInputs; i <= Op::kInputs + 1; ++i) {
      if (Kernel::kOperands >> i & 1)
        entry.in_bytes[operand_slot(Kernel::kOperands, i)] = stored_bytes<typename Kernel::YElement>(dtype);
    }
  }
  if (Kernel::kHasMask) entry.in_bytes[0] = sizeof(bool);
  if (dtype == DType::Float16) entry.stored = Stored::AsFloat16;
  if (dtype == DType::BFloat16) entry.stored = Stored::AsBFloat16;
  return entry;
}

template <class Op, class T, int W>
void fill_backward(ElementwiseTable& table, int row, DType dtype) {
  if constexpr (kHasBackward<Op, W> && !kReadsGradientAlone<Op, W>) {
    table.backward[row][W][static_cast<int>(dtype)] = make_entry<Op, T, W>(dtype);
  }
}

/// Sets the kernels of Op that compute with T, for elements of `dtype`.
template <class Op, class T>
void fill_operator(ElementwiseTable& table, int row, DType dtype) {
  table.forward[row][static_cast<int>(dtype)] = make_entry<Op, T, -1>(dtype);
  if constexpr (Differentiable.contains(dtype_of<T>)) {
    fill_backward<Op, T, 0>(table, row, dtype);
    fill_backward<Op, T, 1>(table, row, dtype);
    fill_backward<Op, T, 2>(table, row, dtype);
    fill_backward<Op, T, 3>(table, row, dtype);
  }
}

/// Sets the kernel of an operator without a gradient that computes with the bits of 16-bit floats.
template <class Op, class T>
void fill_unrounded(ElementwiseTable& table, int row) {
  constexpr DType kDType = dtype_of<T>;
  ElementwiseEntry entry = make_entry<Op, T, -1>(kDType);
  entry.stored = Stored::AsFloat32;  // nothing is converted
  table.forward[row][static_cast<int>(kDType)] = entry;
}

/// Type of elements that an operator's kernel for T computes with.
template <class Op, class T>
struct ComputedWith {
  using type = T;
};
template <class Op, class T>
  requires(std::is_unsigned_v<T> && !std::is_same_v<T, bool> && OfEitherSign::index_of<Op>() >= 0)
struct ComputedWith<Op, T> {
  using type = std::make_signed_t<T>;
};

template <class T, class Ops>
void fill_elementwise(ElementwiseTable& table, int first) {
  constexpr DType kDType = dtype_of<T>;
  Ops::for_each([&]<class Op>() {
    if constexpr (Op::info.dtypes.contains(kDType)) {
      const int row = first + Ops::template index_of<Op>();
      fill_operator<Op, typename ComputedWith<Op, T>::type>(table, row, kDType);
      if constexpr (std::is_same_v<T, float> && Op::kInWiderDType) {
        for (const DType narrow : {DType::Float16, DType::BFloat16}) {
          if (Op::info.dtypes.contains(narrow)) fill_operator<Op, T>(table, row, narrow);
        }
      } else if constexpr (std::is_same_v<T, float> && Op::info.dtypes.contains(DType::Float16)) {
        fill_unrounded<Op, Half>(table, row);
        fill_unrounded<Op, BFloat16>(table, row);
      }
    }
  });
}

}  // namespace lamella::cuda
