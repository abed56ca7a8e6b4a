#include "ops/special/polynomials.h"

#include <cmath>
#include <string>
#include <type_traits>
#include <vector>

#include "engine/core/error.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/movement/cast.h"
#include "ops/runtime/cpu_loader.h"
#include "ops/special/formulas/polynomials.h"
#include "ops/special/operands.h"
#include "ops/special/pairs.h"
#include "ops/support/layer.h"

namespace lamella {
namespace {

using special::Family;
using special::kHigh;
using special::kHighestDegree;
using special::Polynomial;

/// A family of polynomials, on [0, 1] rather than [-1, 1] if shifted, and the operator's name.
struct Kind {
  Family family;
  bool shifted = false;
  const char* name = nullptr;
};

double value_or_derivative(const Polynomial& polynomial, double x, double n, const char* op, double* scratch) {
  const double degree = std::trunc(n);
  if (degree > kHighestDegree && !polynomial.by_definition(degree)) {
    fail<ValueError>("[", op, "] n must be at most ", static_cast<std::int64_t>(kHighestDegree),
                     polynomial.order > 0 ? " for derivatives, got " : ", got ", n);
  }
  return polynomial.at(x, n, scratch);
}

/// Evaluates numbers of one degree, which is at most kHigh.
template <class T>
void values(const Polynomial& polynomial, int n, const T* x, T* y, std::int64_t count) {
  special::Step steps[kHigh];
  for (int k = 0; k < n; ++k) steps[k] = special::step_from(polynomial.family, k, polynomial.shifted);
  const cpu::Recurrence& run = cpu_kernels().special.recurrence;
  if constexpr (std::is_same_v<T, float>) {
    run.float32(steps, n, x, y, count);
  } else {
    run.float64(steps, n, x, y, count);
  }
}

template <class T>
void loop(const Polynomial& polynomial, const T* degree, std::int64_t step, const T* given, T* y, std::int64_t count,
          const char* op) {
  constexpr std::int64_t kFew = 8;  // so few numbers of one degree do not pay for a table of its steps
  std::vector<double> scratch(2 * (static_cast<std::size_t>(polynomial.order) + 1));
  for (std::int64_t begin = 0; begin < count;) {
    const T n = degree[begin * step];
    std::int64_t end = step == 0 ? count : begin + 1;
    while (end < count && degree[end] == n) ++end;
    if (end - begin > kFew && polynomial.order == 0 && n >= 0 && n <= kHigh) {
      values(polynomial, static_cast<int>(n), given + begin, y + begin, end - begin);
    } else {
      for (std::int64_t i = begin; i < end; ++i) {
        const auto x = static_cast<double>(given[i]);
        y[i] = static_cast<T>(value_or_derivative(polynomial, x, static_cast<double>(n), op, scratch.data()));
      }
    }
    begin = end;
  }
}

struct PolynomialLayer : OperatorLayer<PolynomialLayer> {
  static std::string name_of(const Context& ctx) { return static_cast<const char*>(ctx.tag); }

  static Tensor forward(Context& ctx, const Tensor& x, const Tensor& n, const Kind* kind, int order) {
    constexpr std::int64_t kWork = 32;
    ctx.tag = kind->name;
    save_with<State>(ctx, {kind, order}, x, n);
    const Polynomial polynomial{kind->family, kind->shifted, order};
    const auto run = [&]<class T>(const T* degree, std::int64_t step, const T* at, T* y, std::int64_t count) {
      loop(polynomial, degree, step, at, y, count, kind->name);
    };
    const auto run_there = [&](const Tensor& degree, std::int64_t step, const Tensor& at, const Tensor& y) {
      device_kernel<&DeviceKernels::polynomial>(y.device(), kind->name)(polynomial, degree, step, at, y, kind->name);
    };
    return special::evaluated<&DeviceKernels::polynomial>(kind->name, n, x, kWork, run, run_there);
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
