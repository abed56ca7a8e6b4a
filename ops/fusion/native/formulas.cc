#include "ops/fusion/native/formulas.h"

#include <array>

#include "ops/elementwise/formula.h"
#include "ops/elementwise/list.h"

namespace lamella::fusion::native {

/// Answers formulas that skip what no element needs.
static bool any(const Truth&) { return true; }

namespace {

/// An operand whose elements a formula may look at.
struct SeenExpression : Expression {
  using value_type = double;

  SeenExpression(const Expression& of) : Expression(of) {}
};

const Step* operand(int index, bool mask) {
  return make_step({.kind = Step::Kind::Operand, .mask = mask, .index = index});
}

/// Operands of the formula whose kernel reads those in kOperands.
template <class Op, unsigned kOperands>
struct Operands {
  template <int I>
  auto at() const {
    if constexpr (Op::kMaskInput && I == 0) {
      return Truth(operand(operand_slot(kOperands, I), true));
    } else if constexpr ((kOperands >> I & 1) != 0) {
      return Expression(operand(operand_slot(kOperands, I), false));
    } else {
      return Expression();
    }
  }
};

/// gelu_erf looks at the elements before it computes: it is called as a whole.
template <class Op>
const Step* forward_of() {
  if constexpr (std::is_same_v<Op, GeluErf>) {
    return Expression::call("gelu", cpu::VectorFunction::Gelu, Expression(operand(0, false))).step();
  } else {
    return apply_forward<Op>(Operands<Op, kKernelOperands<Op, -1>>()).step();
  }
}

template <class Op, int W>
const Step* backward_of() {
  if constexpr (kHasBackward<Op, W>) {
    return apply_formula<Op, W>(Operands<Op, kKernelOperands<Op, W>>()).step();
  } else {
    return nullptr;
  }
}

using Row = std::array<const Step* (*)(), 1 + ElementwiseOp::kMaxInputs>;

template <class Op>
constexpr Row row_of() {
  if constexpr (Op::info.dtypes.contains(DType::Float32) && Op::info.dtypes.contains(DType::Float64)) {
    return {forward_of<Op>, backward_of<Op, 0>, backward_of<Op, 1>, backward_of<Op, 2>, backward_of<Op, 3>};
  } else {
    return {};
  }
}

constexpr auto kRows = [] {
  std::array<Row, static_cast<std::size_t>(ElementwiseOps::size)> rows{};
  std::size_t next = 0;
  ElementwiseOps::for_each([&]<class Op> { rows[next++] = row_of<Op>(); });
  return rows;
}();

}  // namespace

const Step* formula_of(const ElementwiseOp& op, int wrt) {
  const Row& row = kRows[static_cast<std::size_t>(op.index)];
  const auto formula = wrt < 0 ? row[0] : row[1 + static_cast<std::size_t>(wrt)];
  return formula ? formula() : nullptr;
}

Expression power(const Expression& a, const Expression& b, double exponent) {
  if (exponent == 2) return a * a;
  if (exponent == 3) return a * a * a;
  if (exponent == 1) return a;
  if (exponent == -1) return 1 / a;
  if (exponent == -2) return (1 / a) * (1 / a);
  return pow(a, b);
}

const Step* gelu_formula() { return GeluErf::forward(SeenExpression(Expression(operand(0, false)))).step(); }

}  // namespace lamella::fusion::native
