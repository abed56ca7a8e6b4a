#include <tuple>

#include "ops/elementwise/formula.h"
#include "ops/elementwise/list.h"
#include "ops/simd/lane.h"

// The run-time description of every operator in ElementwiseOps, including each gradient formula on tensors.

namespace lamella {
namespace {

struct TensorSource {
  const Tensor* operands;
  template <int I>
  const Tensor& at() const {
    return operands[I];
  }
};

template <class Op, int I>
constexpr ElementwiseOp::Formula formula_of() {
  if constexpr (kHasBackward<Op, I>) {
    return [](const Tensor* operands) -> Tensor {
      const TensorSource source{operands};
      if constexpr (kConjugates<Op, I>) {
        if (is_complex(operands[Op::kInputs + 1].dtype()))
          return conj(apply_formula<Op, I>(ConjugatedSource<TensorSource, Op::kInputs + 1>{source}));
      }
      return apply_formula<Op, I>(source);
    };
  } else {
    return nullptr;
  }
}

/// Returns the result of Op::forward for an operand of the first of these dtypes that it accepts.
template <class Op>
constexpr auto sample_operand() {
  if constexpr (Op::info.dtypes.contains(DType::Float32)) {
    return simd::Lane<float>();
  } else if constexpr (Op::info.dtypes.contains(DType::Complex64)) {
    return simd::ComplexOf<simd::Lane<float>>();
  } else {
    return simd::Lane<std::int32_t>();
  }
}

template <class Op>
constexpr bool gives_mask() {
  using X = decltype(sample_operand<Op>());
  return std::is_same_v<ForwardResult<Op, X>, typename X::mask_type>;
}

template <class Op>
constexpr bool gives_real() {
  if constexpr (Op::info.dtypes.contains(DType::Complex64)) {
    return std::is_same_v<ForwardResult<Op, simd::ComplexOf<simd::Lane<float>>>, simd::Lane<float>>;
  } else {
    return false;
  }
}

template <class Op>
constexpr ElementwiseOp describe_op() {
  return {.info = &Op::info,
          .index = ElementwiseOps::index_of<Op>(),
          .inputs = Op::kInputs,
          .mask_output = gives_mask<Op>(),
          .mask_input = Op::kMaskInput,
          .real_output = gives_real<Op>(),
          .holomorphic = Op::kHolomorphic,
          .takes_long = Op::kTakesLong,
          .short_formula = Op::kShortFormula,
          .reads = {kReads<Op, 0>, kReads<Op, 1>, kReads<Op, 2>, kReads<Op, 3>},
          .formulas = {formula_of<Op, 0>(), formula_of<Op, 1>(), formula_of<Op, 2>(), formula_of<Op, 3>()}};
}

template <class Op>
constexpr ElementwiseOp kDescription = describe_op<Op>();

}  // namespace

template <class Op>
const ElementwiseOp& elementwise_op() {
  return kDescription<Op>;
}

namespace {

template <class... Ops>
[[maybe_unused]] auto instantiate(OpList<Ops...>) {
  return std::tuple{&elementwise_op<Ops>...};
}
// Odr-uses every elementwise_op<Op>(), so that each is emitted in this file only.
[[gnu::used]] const auto kInstantiated = instantiate(ElementwiseOps{});

}  // namespace
}  // namespace lamella
