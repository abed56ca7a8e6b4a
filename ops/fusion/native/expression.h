#pragma once

#include <cstdint>
#include <deque>
#include <type_traits>

#include "ops/cpu/tables/vector_functions.h"
#include "ops/simd/formulas.h"

// Note [Native formulas]
// The formulas of the elementwise operators are templates over the operand type. Run on expressions, which compute
// nothing and note what was asked for, they give the text that is compiled at run time: the same sums and products in
// the same order as in the kernels, so that there is no second place for a formula, and the results keep their bits.
// What is no arithmetic, comparison or selection (an exponential) is a call of the kernels' function of a register.

namespace lamella::fusion::native {

/// A step of a formula.
struct Step {
  enum class Kind : std::uint8_t { Operand, Number, Prefix, Infix, Inline, Select, Call };

  Kind kind = Kind::Number;
  /// True if the result is a mask.
  bool mask = false;
  /// Operator of C++, or name of a function: of the prelude (emit.cc), or of what is called.
  const char* text = "";
  /// Number of the operand, or of the function that is called.
  int index = 0;
  double number = 0;
  const Step* of[3] = {};
};

/// Owns the steps that formulas make while it lives; there is one at a time, for which others wait. Expressions are
/// pointers into it: code of formulas that counted references would take three times as long to compile.
class Steps {
 public:
  Steps();
  ~Steps();
  Steps(const Steps&) = delete;
  Steps& operator=(const Steps&) = delete;

 private:
  friend const Step* make_step(const Step& step);

  std::deque<Step> all_;
};

/// Returns a copy of the step that belongs to the Steps of the calling thread, of which there must be one.
const Step* make_step(const Step& step);
const Step* make_step(Step::Kind kind, bool mask, const char* text, const Step* a, const Step* b = nullptr,
                      const Step* c = nullptr);

class Expression;

/// The counterpart of simd::Mask.
class Truth {
 public:
  using mask_type = Truth;

  explicit Truth(const Step* step) : step_(step) {}
  const Step* step() const { return step_; }

  friend Truth operator&(const Truth& a, const Truth& b) { return infix("&", a, b); }
  friend Truth operator|(const Truth& a, const Truth& b) { return infix("|", a, b); }
  friend Truth operator^(const Truth& a, const Truth& b) { return infix("^", a, b); }
  friend Expression where(const Truth& mask, const Expression& a, const Expression& b);
  friend Truth operator!(const Truth& a) { return Truth(make_step(Step::Kind::Prefix, true, "~", a.step_)); }

 private:
  static Truth infix(const char* text, const Truth& a, const Truth& b) {
    return Truth(make_step(Step::Kind::Infix, true, text, a.step_, b.step_));
  }

  const Step* step_;
};

/// The counterpart of simd::Vec of a floating dtype; see Note [Native formulas].
class Expression : public simd::FloatFormulas<Expression, Truth, double> {
  using X = Expression;
  using F = cpu::VectorFunction;

 public:
  using mask_type = Truth;

  /// An operand that no formula reads.
  Expression() : step_(nullptr) {}
  explicit Expression(const Step* step) : step_(step) {}
  template <class U>
    requires std::is_arithmetic_v<U>
  Expression(U value) : step_(make_step({.kind = Step::Kind::Number, .number = static_cast<double>(value)})) {}

  const Step* step() const { return step_; }

  friend X operator+(const X& a, const X& b) { return infix("+", a, b); }
  friend X operator-(const X& a, const X& b) { return infix("-", a, b); }
  friend X operator*(const X& a, const X& b) { return infix("*", a, b); }
  friend X operator/(const X& a, const X& b) { return infix("/", a, b); }
  friend X operator-(const X& a) { return X(make_step(Step::Kind::Prefix, false, "-", a.step_)); }

  friend Truth operator==(const X& a, const X& b) { return compare("==", a, b); }
  friend Truth operator!=(const X& a, const X& b) { return compare("!=", a, b); }
  friend Truth operator<(const X& a, const X& b) { return compare("<", a, b); }
  friend Truth operator<=(const X& a, const X& b) { return compare("<=", a, b); }
  friend Truth operator>(const X& a, const X& b) { return compare(">", a, b); }
  friend Truth operator>=(const X& a, const X& b) { return compare(">=", a, b); }

  friend Truth signbit(const X& a) { return Truth(make_step(Step::Kind::Inline, true, "signbit", a.step_)); }
  friend X abs(const X& a) { return in_line("abs", a); }
  friend X copysign(const X& a, const X& b) { return in_line("copysign", a, b); }
  friend X larger(const X& a, const X& b) { return in_line("larger", a, b); }
  friend X smaller(const X& a, const X& b) { return in_line("smaller", a, b); }

  friend X sqrt(const X& a) { return call("sqrt", F::Sqrt, a); }
  friend X floor(const X& a) { return call("floor", F::Floor, a); }
  friend X ceil(const X& a) { return call("ceil", F::Ceil, a); }
  friend X trunc(const X& a) { return call("trunc", F::Trunc, a); }
  friend X round(const X& a) { return call("round", F::Round, a); }
  friend X exp(const X& a) { return call("exp", F::Exp, a); }
  friend X exp2(const X& a) { return call("exp2", F::Exp2, a); }
  friend X expm1(const X& a) { return call("expm1", F::Expm1, a); }
  friend X log(const X& a) { return call("log", F::Log, a); }
  friend X log1p(const X& a) { return call("log1p", F::Log1p, a); }
  friend X log2(const X& a) { return call("log2", F::Log2, a); }
  friend X log10(const X& a) { return call("log10", F::Log10, a); }
  friend X sin(const X& a) { return call("sin", F::Sin, a); }
  friend X cos(const X& a) { return call("cos", F::Cos, a); }
  friend X tan(const X& a) { return call("tan", F::Tan, a); }
  friend X asin(const X& a) { return call("asin", F::Asin, a); }
  friend X acos(const X& a) { return call("acos", F::Acos, a); }
  friend X atan(const X& a) { return call("atan", F::Atan, a); }
  friend X sinh(const X& a) { return call("sinh", F::Sinh, a); }
  friend X cosh(const X& a) { return call("cosh", F::Cosh, a); }
  friend X tanh(const X& a) { return call("tanh", F::Tanh, a); }
  friend X asinh(const X& a) { return call("asinh", F::Asinh, a); }
  friend X acosh(const X& a) { return call("acosh", F::Acosh, a); }
  friend X atanh(const X& a) { return call("atanh", F::Atanh, a); }
  friend X erf(const X& a) { return call("erf", F::Erf, a); }
  friend X erfc(const X& a) { return call("erfc", F::Erfc, a); }
  friend X erfinv(const X& a) { return call("erfinv", F::Erfinv, a); }
  friend X lgamma(const X& a) { return call("lgamma", F::Lgamma, a); }
  friend X digamma(const X& a) { return call("digamma", F::Digamma, a); }
  friend X pow(const X& a, const X& b) { return call("pow", F::Pow, a, b); }
  friend X fmod(const X& a, const X& b) { return call("fmod", F::Fmod, a, b); }
  friend X atan2(const X& a, const X& b) { return call("atan2", F::Atan2, a, b); }
  friend X hypot(const X& a, const X& b) { return call("hypot", F::Hypot, a, b); }
  friend X nextafter(const X& a, const X& b) { return call("nextafter", F::NextAfter, a, b); }
  friend X zeta(const X& a, const X& b) { return call("zeta", F::Zeta, a, b); }

  static X call(const char* name, F function, const X& a, const X& b = {}) {
    return X(make_step(
        {.kind = Step::Kind::Call, .text = name, .index = static_cast<int>(function), .of = {a.step_, b.step_}}));
  }

 private:
  static X infix(const char* text, const X& a, const X& b) {
    return X(make_step(Step::Kind::Infix, false, text, a.step_, b.step_));
  }
  static Truth compare(const char* text, const X& a, const X& b) {
    return Truth(make_step(Step::Kind::Infix, true, text, a.step_, b.step_));
  }
  static X in_line(const char* text, const X& a, const X& b = {}) {
    return X(make_step(Step::Kind::Inline, false, text, a.step_, b.step_));
  }

  const Step* step_;
};

inline Expression where(const Truth& mask, const Expression& a, const Expression& b) {
  return Expression(make_step(Step::Kind::Select, false, "", mask.step(), a.step(), b.step()));
}

}  // namespace lamella::fusion::native
