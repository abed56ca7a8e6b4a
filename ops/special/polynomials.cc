#include "ops/special/polynomials.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <type_traits>
#include <vector>

#include "engine/core/error.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/movement/cast.h"
#include "ops/runtime/cpu_loader.h"
#include "ops/special/operands.h"
#include "ops/special/pairs.h"
#include "ops/support/layer.h"

namespace lamella {
namespace {

enum class Family : std::uint8_t {
  ChebyshevT,
  ChebyshevU,
  ChebyshevV,
  ChebyshevW,
  HermiteH,
  HermiteHe,
  LaguerreL,
  LegendreP
};

constexpr bool is_chebyshev(Family family) { return family <= Family::ChebyshevW; }

/// Steps of the recurrences: Abramowitz and Stegun, 22.7, and, for p_1, with p_(-1) = 0, 22.4.
using Step = cpu::RecurrenceStep;

template <Family F>
Step step_from(double k) {
  switch (F) {
    case Family::HermiteH:
      return {2, 0, 2 * k};
    case Family::HermiteHe:
      return {1, 0, k};
    case Family::LaguerreL:
      return {-1 / (k + 1), (2 * k + 1) / (k + 1), k / (k + 1)};
    case Family::LegendreP:
      return {(2 * k + 1) / (k + 1), 0, k / (k + 1)};
    case Family::ChebyshevT:
      return {k == 0 ? 1.0 : 2.0, 0, 1};
    case Family::ChebyshevV:
      return {2, k == 0 ? -1.0 : 0.0, 1};
    case Family::ChebyshevW:
      return {2, k == 0 ? 1.0 : 0.0, 1};
    case Family::ChebyshevU:
      return {2, 0, 1};
  }
  return {};
}

/// Returns the step of a family or, if `shifted`, of its polynomials of 2 x - 1, on [0, 1] rather than [-1, 1].
template <Family F>
Step step_from(double k, bool shifted) {
  const Step step = step_from<F>(k);
  return shifted ? Step{2 * step.a, step.b - step.a, step.c} : step;
}

template <Family F>
double value(double x, std::int64_t n, bool shifted) {
  double last = 0;
  double p = 1;
  for (std::int64_t k = 0; k < n && p == p; ++k) {
    const Step step = step_from<F>(static_cast<double>(k), shifted);
    const double next = (step.a * x + step.b) * p - step.c * last;
    last = p;
    p = next;
  }
  return p;
}

/// Returns the derivative of some order from the differentiated recurrences of all orders up to it.
template <Family F>
double derivative(double x, std::int64_t n, bool shifted, int order, std::vector<double>& scratch) {
  const auto width = static_cast<std::size_t>(order) + 1;
  scratch.assign(2 * width, 0.0);
  double* last = scratch.data();
  double* p = last + width;
  p[0] = 1;
  for (std::int64_t k = 0; k < n && p[order] == p[order]; ++k) {
    const Step step = step_from<F>(static_cast<double>(k), shifted);
    for (int i = order; i >= 0; --i) {
      last[i] = (step.a * x + step.b) * p[i] - step.c * last[i];
      if (i > 0) last[i] += i * step.a * p[i - 1];
    }
    std::swap(last, p);
  }
  return p[order];
}

/// Degree above which Chebyshev's polynomials are computed by their defining formula.
constexpr int kHigh = 64;

/// Returns Chebyshev's polynomials by their defining formula, for high degrees and |x| < 1.
template <Family F>
double waves(double x, double n) {
  const double t = std::acos(x);
  switch (F) {
    case Family::ChebyshevT:
      return std::cos(n * t);
    case Family::ChebyshevU:
      return std::sin((n + 1) * t) / std::sin(t);
    case Family::ChebyshevV:
      return std::cos((n + 0.5) * t) / std::cos(t / 2);
    default:
      return std::sin((n + 0.5) * t) / std::sin(t / 2);
  }
}

/// Returns Chebyshev's polynomials by their defining formula for x >= 1, where the angle is imaginary.
template <Family F>
double growth(double x, double n) {
  if (std::isinf(x)) return x;
  const double t = std::acosh(x);
  switch (F) {
    case Family::ChebyshevT:
      return std::cosh(n * t);
    case Family::ChebyshevU:
      return t == 0 ? n + 1 : std::sinh((n + 1) * t) / std::sinh(t);
    case Family::ChebyshevV:
      return std::cosh((n + 0.5) * t) / std::cosh(t / 2);
    default:
      return t == 0 ? 2 * n + 1 : std::sinh((n + 0.5) * t) / std::sinh(t / 2);
  }
}

/// Returns waves() or growth() for any x. p(-x) is p(x) or its negative, of the other kind for the third and the
/// fourth.
template <Family F>
double high_chebyshev(double x, double n) {
  if (!(std::abs(x) >= 1)) return waves<F>(x, n);
  if (x > 0) return growth<F>(x, n);
  constexpr Family kOther = F == Family::ChebyshevV   ? Family::ChebyshevW
                            : F == Family::ChebyshevW ? Family::ChebyshevV
                                                      : F;
  return std::fmod(n, 2) == 0 ? growth<kOther>(-x, n) : -growth<kOther>(-x, n);
}

/// A family of polynomials, on [0, 1] rather than [-1, 1] if shifted, and the operator's name.
struct Kind {
  Family family;
  bool shifted = false;
  const char* name = nullptr;
};

template <Family F>
double value_or_derivative(double x, double n, const Kind& kind, int order, std::vector<double>& scratch) {
  constexpr double kHighest = 1e7;  // highest degree that is reached step by step, which takes a tenth of a second
  const double degree = std::trunc(n);
  if (!(degree >= 0)) return 0;
  if (is_chebyshev(F) && order == 0 && degree > kHigh) {
    return high_chebyshev<F>(kind.shifted ? 2 * x - 1 : x, degree);
  }
  if (degree > kHighest) {
    fail<ValueError>("[", kind.name, "] n must be at most ", static_cast<std::int64_t>(kHighest),
                     order > 0 ? " for derivatives, got " : ", got ", n);
  }
  const auto steps = static_cast<std::int64_t>(degree);
  return order > 0 ? derivative<F>(x, steps, kind.shifted, order, scratch) : value<F>(x, steps, kind.shifted);
}

/// Evaluates numbers of one degree, which is at most kHigh.
template <Family F, class T>
void values(int n, const T* x, T* y, std::int64_t count, bool shifted) {
  Step steps[kHigh];
  for (int k = 0; k < n; ++k) steps[k] = step_from<F>(k, shifted);
  const cpu::Recurrence& run = cpu_kernels().special.recurrence;
  if constexpr (std::is_same_v<T, float>) {
    run.float32(steps, n, x, y, count);
  } else {
    run.float64(steps, n, x, y, count);
  }
}

template <Family F, class T>
void loop(const T* degree, std::int64_t step, const T* given, T* y, std::int64_t count, const Kind& kind, int order) {
  constexpr std::int64_t kFew = 8;  // so few numbers of one degree do not pay for a table of its steps
  std::vector<double> scratch;
  for (std::int64_t begin = 0; begin < count;) {
    const T n = degree[begin * step];
    std::int64_t end = step == 0 ? count : begin + 1;
    while (end < count && degree[end] == n) ++end;
    if (end - begin > kFew && order == 0 && n >= 0 && n <= kHigh) {
      values<F>(static_cast<int>(n), given + begin, y + begin, end - begin, kind.shifted);
    } else {
      for (std::int64_t i = begin; i < end; ++i) {
        const auto x = static_cast<double>(given[i]);
        y[i] = static_cast<T>(value_or_derivative<F>(x, static_cast<double>(n), kind, order, scratch));
      }
    }
    begin = end;
  }
}

template <class T>
using LoopOf = void (*)(const T* degree, std::int64_t step, const T* x, T* y, std::int64_t count, const Kind& kind,
                        int order);

template <class T>
LoopOf<T> loop_of(Family family) {
  switch (family) {
    case Family::ChebyshevT:
      return loop<Family::ChebyshevT, T>;
    case Family::ChebyshevU:
      return loop<Family::ChebyshevU, T>;
    case Family::ChebyshevV:
      return loop<Family::ChebyshevV, T>;
    case Family::ChebyshevW:
      return loop<Family::ChebyshevW, T>;
    case Family::HermiteH:
      return loop<Family::HermiteH, T>;
    case Family::HermiteHe:
      return loop<Family::HermiteHe, T>;
    case Family::LaguerreL:
      return loop<Family::LaguerreL, T>;
    case Family::LegendreP:
      return loop<Family::LegendreP, T>;
  }
  return nullptr;
}

struct PolynomialLayer : OperatorLayer<PolynomialLayer> {
  static std::string name_of(const Context& ctx) { return static_cast<const char*>(ctx.tag); }

  static Tensor forward(Context& ctx, const Tensor& x, const Tensor& n, const Kind* kind, int order) {
    constexpr std::int64_t kWork = 32;
    ctx.tag = kind->name;
    save_with<State>(ctx, {kind, order}, x, n);
    const auto run = [&]<class T>(const T* degree, std::int64_t step, const T* at, T* y, std::int64_t count) {
      loop_of<T>(kind->family)(degree, step, at, y, count, *kind, order);
    };
    return special::evaluated(kind->name, n, x, kWork, run);
  }
  static TensorList backward(Context& ctx, const Tensor& dy) { return {dy * slope(ctx), Tensor()}; }
  static Tensor jvp(Context& ctx, const Tensor& dx, const Tensor&) { return dx * slope(ctx); }

 private:
  struct State {
    const Kind* kind = nullptr;
    int order = 0;
  };

  static Tensor slope(Context& ctx) {
    const auto [x, n] = ctx.saved_tensors<2>();
    const State& state = ctx.state<State>();
    return apply(x, n, state.kind, state.order + 1);
  }
};

/// Implements Op::call for these polynomials.
template <class Op, Family F, bool kShifted = false>
Tensor polynomial(const Operand& x, const Operand& n) {
  static constexpr Kind kKind{F, kShifted, Op::info.name};
  const FloatPair pair(x, n, Op::info.name);
  return cast(PolynomialLayer::apply(pair.first, pair.second.detach(), &kKind, 0), pair.dtype);
}

}  // namespace

Tensor ChebyshevT::call(const Operand& x, const Operand& n) { return polynomial<ChebyshevT, Family::ChebyshevT>(x, n); }
Tensor ChebyshevU::call(const Operand& x, const Operand& n) { return polynomial<ChebyshevU, Family::ChebyshevU>(x, n); }
Tensor ChebyshevV::call(const Operand& x, const Operand& n) { return polynomial<ChebyshevV, Family::ChebyshevV>(x, n); }
Tensor ChebyshevW::call(const Operand& x, const Operand& n) { return polynomial<ChebyshevW, Family::ChebyshevW>(x, n); }
Tensor ShiftedChebyshevT::call(const Operand& x, const Operand& n) {
  return polynomial<ShiftedChebyshevT, Family::ChebyshevT, true>(x, n);
}
Tensor ShiftedChebyshevU::call(const Operand& x, const Operand& n) {
  return polynomial<ShiftedChebyshevU, Family::ChebyshevU, true>(x, n);
}
Tensor ShiftedChebyshevV::call(const Operand& x, const Operand& n) {
  return polynomial<ShiftedChebyshevV, Family::ChebyshevV, true>(x, n);
}
Tensor ShiftedChebyshevW::call(const Operand& x, const Operand& n) {
  return polynomial<ShiftedChebyshevW, Family::ChebyshevW, true>(x, n);
}
Tensor HermiteH::call(const Operand& x, const Operand& n) { return polynomial<HermiteH, Family::HermiteH>(x, n); }
Tensor HermiteHe::call(const Operand& x, const Operand& n) { return polynomial<HermiteHe, Family::HermiteHe>(x, n); }
Tensor LaguerreL::call(const Operand& x, const Operand& n) { return polynomial<LaguerreL, Family::LaguerreL>(x, n); }
Tensor LegendreP::call(const Operand& x, const Operand& n) { return polynomial<LegendreP, Family::LegendreP>(x, n); }

}  // namespace lamella
