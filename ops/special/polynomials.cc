#include "ops/special/polynomials.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "engine/autograd/function.h"
#include "ops/elementwise/list.h"
#include "ops/movement/cast.h"
#include "ops/special/operands.h"
#include "ops/special/pairs.h"

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

/// p_(k + 1)(x) = (a x + b) p_k(x) - c p_(k - 1)(x): Abramowitz and Stegun, 22.7, and, for p_1, with p_(-1) = 0, 22.4.
struct Step {
  double a = 2;
  double b = 0;
  double c = 1;
};

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
      return {k == 0 ? 1.0 : 2.0};
    case Family::ChebyshevV:
      return {2, k == 0 ? -1.0 : 0.0};
    case Family::ChebyshevW:
      return {2, k == 0 ? 1.0 : 0.0};
    case Family::ChebyshevU:
      return {};
  }
  return {};
}

constexpr int kLanes = 16;

/// For several x at once, which hides the time that each step waits for the one before.
template <Family F>
void values(const double* x, double* p, std::int64_t n) {
  double last[kLanes] = {};
  std::fill_n(p, kLanes, 1.0);
  for (std::int64_t k = 0; k < n; ++k) {
    const Step step = step_from<F>(static_cast<double>(k));
    for (int i = 0; i < kLanes; ++i) {
      const double next = (step.a * x[i] + step.b) * p[i] - step.c * last[i];
      last[i] = p[i];
      p[i] = next;
    }
  }
}

template <Family F>
double value(double x, std::int64_t n) {
  double last = 0;
  double p = 1;
  for (std::int64_t k = 0; k < n && p == p; ++k) {
    const Step step = step_from<F>(static_cast<double>(k));
    const double next = (step.a * x + step.b) * p - step.c * last;
    last = p;
    p = next;
  }
  return p;
}

/// The derivative of some order, from the recurrences of those up to it: each is that of the polynomials,
/// differentiated.
template <Family F>
double derivative(double x, std::int64_t n, int order, std::vector<double>& scratch) {
  const auto width = static_cast<std::size_t>(order) + 1;
  scratch.assign(2 * width, 0.0);
  double* last = scratch.data();
  double* p = last + width;
  p[0] = 1;
  for (std::int64_t k = 0; k < n && p[order] == p[order]; ++k) {
    const Step step = step_from<F>(static_cast<double>(k));
    for (int i = order; i >= 0; --i) {
      last[i] = (step.a * x + step.b) * p[i] - step.c * last[i];
      if (i > 0) last[i] += i * step.a * p[i - 1];
    }
    std::swap(last, p);
  }
  return p[order];
}

/// Above that degree Chebyshev's polynomials are computed by the formula that defines them.
constexpr double kHigh = 64;

/// Chebyshev's polynomials of a degree so high that the formula that defines them costs less; |x| < 1.
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

/// Which polynomials, on [0, 1] in place of [-1, 1] where they are shifted, and what they are called.
struct Kind {
  Family family;
  bool shifted = false;
  const char* name = nullptr;
};

template <Family F>
double value_or_derivative(double x, double n, int order, std::vector<double>& scratch) {
  constexpr double kHighest = 9e18;
  const double degree = std::trunc(std::min(n, kHighest));
  if (!(degree >= 0)) return 0;
  if (order > 0) return derivative<F>(x, static_cast<std::int64_t>(degree), order, scratch);
  if (is_chebyshev(F) && degree > kHigh && std::abs(x) < 1) return waves<F>(x, degree);
  return value<F>(x, static_cast<std::int64_t>(degree));
}

template <Family F, class T>
void loop(const T* degree, std::int64_t step, const T* given, T* y, std::int64_t count, bool shifted, int order) {
  const double factor = shifted ? std::ldexp(1.0, order) : 1.0;  // of the derivative: the chain rule's
  std::vector<double> scratch;
  double x[kLanes];
  double p[kLanes];
  for (std::int64_t begin = 0; begin < count; begin += kLanes) {
    const int lanes = static_cast<int>(std::min<std::int64_t>(kLanes, count - begin));
    for (int i = 0; i < lanes; ++i) {
      const auto at = static_cast<double>(given[begin + i]);
      x[i] = shifted ? 2 * at - 1 : at;
    }
    const T* const n_at = degree + begin * step;
    const auto n = static_cast<double>(*n_at);
    const bool same = step == 0 || std::all_of(n_at, n_at + lanes, [n](T other) { return other == n; });
    if (same && lanes == kLanes && order == 0 && n >= 0 && n <= kHigh) {
      values<F>(x, p, static_cast<std::int64_t>(n));
    } else {
      for (int i = 0; i < lanes; ++i)
        p[i] = value_or_derivative<F>(x[i], static_cast<double>(n_at[i * step]), order, scratch);
    }
    for (int i = 0; i < lanes; ++i) y[begin + i] = static_cast<T>(factor * p[i]);
  }
}

template <class T>
using LoopOf = void (*)(const T* degree, std::int64_t step, const T* x, T* y, std::int64_t count, bool shifted,
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

struct PolynomialLayer : Function<PolynomialLayer> {
  static constexpr bool kChecksGradients = false;
  static std::string name_of(const Context& ctx) { return static_cast<const char*>(ctx.tag); }

  static Tensor forward(Context& ctx, const Tensor& x, const Tensor& n, const Kind* kind, int order) {
    constexpr std::int64_t kWork = 32;
    ctx.tag = kind->name;
    if (ctx.recording()) {
      ctx.save_for_backward(x, n);
      ctx.state<State>() = {kind, order};
    }
    const auto run = [&]<class T>(const T* degree, std::int64_t step, const T* at, T* y, std::int64_t count) {
      loop_of<T>(kind->family)(degree, step, at, y, count, kind->shifted, order);
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

/// The call of Op, of these polynomials.
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
