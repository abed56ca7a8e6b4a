#include "ops/special/functions.h"

#include <cmath>
#include <string>

#include "engine/core/host.h"
#include "engine/runtime/parallel.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/clip.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/exp.h"
#include "ops/elementwise/log.h"
#include "ops/elementwise/square.h"
#include "ops/elementwise/where.h"
#include "ops/extension/extension.h"
#include "ops/movement/cast.h"
#include "ops/runtime/cpu_loader.h"
#include "ops/special/slopes.h"
#include "ops/support/checks.h"
#include "ops/support/hidden.h"
#include "ops/support/layer.h"
#include "ops/support/order.h"

namespace lamella {
namespace {

constexpr std::int64_t kWork = 16;  // cost of an element, relative to an addition

/// A function and its derivative, as a formula of its argument x and its value y.
struct Rule {
  const char* name;
  cpu::SpecialFunction cpu::SpecialTable::* function;
  Tensor (*slope)(const Tensor& x, const Tensor& y);
  bool reads_x = true;
  bool reads_y = true;
};

Tensor evaluated(const Rule& rule, const Tensor& given) {
  if (is_batched(given)) [[unlikely]]
    return over_examples([&](const Tensor& shown) { return evaluated(rule, shown); }, given);
  const Tensor* const operands[] = {&given};
  Tensor y = empty_in_order(operands, given.shape(), given.dtype(), given.device());
  const std::int64_t n = y.numel();
  if (y.device().is_meta() || n == 0) return y;
  if (!y.device().is_cpu())
    return on_host(rule.name, y.device(), [&](const Tensor& host) { return evaluated(rule, host); }, given);
  // One pass over both if their layout is the same, else over a copy.
  const bool alike = given.strides() == y.strides();
  const Tensor x = alike ? given : contiguous(given);
  if (!alike) y = empty(x.shape(), x.dtype(), x.device());
  const cpu::SpecialFunction& function = cpu_kernels().special.*rule.function;
  const HostRelease release(n * kWork);
  parallel_for(0, n, even_grain(n, kWork), [&](std::int64_t begin, std::int64_t end) {
    if (x.dtype() == DType::Float32) {
      function.float32(x.data<float>() + begin, y.data<float>() + begin, end - begin);
    } else {
      function.float64(x.data<double>() + begin, y.data<double>() + begin, end - begin);
    }
  });
  return y;
}

struct SpecialLayer : OperatorLayer<SpecialLayer> {
  static std::string name_of(const Context& ctx) { return static_cast<const Rule*>(ctx.tag)->name; }

  static Tensor forward(Context& ctx, const Tensor& x, const Rule* rule) {
    ctx.tag = rule;
    Tensor y = evaluated(*rule, x);
    if (ctx.recording()) ctx.save_for_backward(rule->reads_x ? x : Tensor(), rule->reads_y ? y : Tensor());
    return y;
  }
  static Tensor backward(Context& ctx, const Tensor& dy) {
    const auto [x, y] = ctx.saved_tensors<2>();
    return dy * static_cast<const Rule*>(ctx.tag)->slope(x, y);
  }
  static Tensor jvp(Context& ctx, const Tensor& dx) { return backward(ctx, dx); }
};

/// Applies a function; x and the result are float32 or float64.
Tensor apply(const Rule& rule, const Tensor& x) { return SpecialLayer::apply(x, &rule); }

Tensor call(const Rule& rule, const Tensor& given) {
  const Tensor x = as_floating(given, rule.name);
  if (x.dtype() == DType::Float32 || x.dtype() == DType::Float64) return apply(rule, x);
  return cast(apply(rule, cast(x, DType::Float32)), x.dtype());
}

/// Returns the derivative given by a chain of formulas.
template <const SlopeChain& kChain>
Tensor by_chain(const Tensor& x, const Tensor&) {
  return special::slope(kChain, x);
}

// Derivatives of Bessel functions: Abramowitz and Stegun, 9.6.27, 9.6.28; see slopes.cc for the others.

Tensor k0(const Tensor& x) { return ModifiedBesselK0::call(x); }

constexpr Rule kI0{I0::info.name, &cpu::SpecialTable::i0, by_chain<special::kI0>, true, false};
constexpr Rule kI0e{I0e::info.name, &cpu::SpecialTable::i0e, by_chain<special::kI0e>, true, false};
constexpr Rule kI1{I1::info.name, &cpu::SpecialTable::i1, by_chain<special::kI1>, true, false};
constexpr Rule kI1e{I1e::info.name, &cpu::SpecialTable::i1e, by_chain<special::kI1e>, true, false};

constexpr Rule kK0{ModifiedBesselK0::info.name, &cpu::SpecialTable::k0,
                   [](const Tensor& x, const Tensor&) { return -ModifiedBesselK1::call(x); }, true, false};
constexpr Rule kK1{ModifiedBesselK1::info.name, &cpu::SpecialTable::k1,
                   [](const Tensor& x, const Tensor& y) { return -k0(x) - y / x; }};
constexpr Rule kK0e{ScaledModifiedBesselK0::info.name, &cpu::SpecialTable::k0e, by_chain<special::kK0e>, true, false};
constexpr Rule kK1e{ScaledModifiedBesselK1::info.name, &cpu::SpecialTable::k1e, by_chain<special::kK1e>, true, false};

constexpr Rule kJ0{BesselJ0::info.name, &cpu::SpecialTable::j0, by_chain<special::kJ0>, true, false};
constexpr Rule kJ1{BesselJ1::info.name, &cpu::SpecialTable::j1, by_chain<special::kJ1>, true, false};
constexpr Rule kY0{BesselY0::info.name, &cpu::SpecialTable::y0, by_chain<special::kY0>, true, false};
constexpr Rule kY1{BesselY1::info.name, &cpu::SpecialTable::y1, by_chain<special::kY1>, true, false};

constexpr Rule kSphericalJ1{"spherical_bessel_j1", &cpu::SpecialTable::spherical_j1,
                            [](const Tensor& x, const Tensor&) { return -special::slope(special::kSphericalJ0, x, 2); },
                            true, false};
constexpr Rule kSphericalJ0{SphericalBesselJ0::info.name, &cpu::SpecialTable::spherical_j0,
                            [](const Tensor& x, const Tensor&) { return -apply(kSphericalJ1, x); }, true, false};

/// Airy's equation: the second derivative is x Ai(x).
constexpr Rule kAiryAiSlope{"airy_ai_slope", &cpu::SpecialTable::airy_ai_slope,
                            [](const Tensor& x, const Tensor&) { return x * AiryAi::call(x); }, true, false};
constexpr Rule kAiryAi{AiryAi::info.name, &cpu::SpecialTable::airy_ai,
                       [](const Tensor& x, const Tensor&) { return apply(kAiryAiSlope, x); }, true, false};

constexpr Rule kErfcx{Erfcx::info.name, &cpu::SpecialTable::erfcx, by_chain<special::kErfcx>, true, false};
constexpr Rule kNdtri{Ndtri::info.name, &cpu::SpecialTable::ndtri,
                      [](const Tensor&, const Tensor& y) { return 2.50662827463100050242 * exp(0.5 * y * y); }, false,
                      true};
constexpr Rule kLogNdtrSlope{"log_ndtr_slope", &cpu::SpecialTable::log_ndtr_slope,
                             [](const Tensor& x, const Tensor&) { return special::slope(special::kLogNdtr, x, 2); },
                             true, false};
constexpr Rule kLogNdtr{LogNdtr::info.name, &cpu::SpecialTable::log_ndtr,
                        [](const Tensor& x, const Tensor&) { return apply(kLogNdtrSlope, x); }, true, false};

constexpr Rule kLogitSlope{"logit_slope", &cpu::SpecialTable::logit_slope,
                           [](const Tensor& x, const Tensor& y) { return (2 * x - 1) * square(y); }};
constexpr Rule kLogit{Logit::info.name, &cpu::SpecialTable::logit,
                      [](const Tensor& x, const Tensor&) { return apply(kLogitSlope, x); }, true, false};

}  // namespace

Tensor special::log_ndtr_slope(const Tensor& x) { return apply(kLogNdtrSlope, x); }

Tensor I0::call(const Tensor& x) { return lamella::call(kI0, x); }
Tensor I0e::call(const Tensor& x) { return lamella::call(kI0e, x); }
Tensor I1::call(const Tensor& x) { return lamella::call(kI1, x); }
Tensor I1e::call(const Tensor& x) { return lamella::call(kI1e, x); }
Tensor ModifiedBesselK0::call(const Tensor& x) { return lamella::call(kK0, x); }
Tensor ModifiedBesselK1::call(const Tensor& x) { return lamella::call(kK1, x); }
Tensor ScaledModifiedBesselK0::call(const Tensor& x) { return lamella::call(kK0e, x); }
Tensor ScaledModifiedBesselK1::call(const Tensor& x) { return lamella::call(kK1e, x); }
Tensor BesselJ0::call(const Tensor& x) { return lamella::call(kJ0, x); }
Tensor BesselJ1::call(const Tensor& x) { return lamella::call(kJ1, x); }
Tensor BesselY0::call(const Tensor& x) { return lamella::call(kY0, x); }
Tensor BesselY1::call(const Tensor& x) { return lamella::call(kY1, x); }
Tensor SphericalBesselJ0::call(const Tensor& x) { return lamella::call(kSphericalJ0, x); }
Tensor AiryAi::call(const Tensor& x) { return lamella::call(kAiryAi, x); }
Tensor Erfcx::call(const Tensor& x) { return lamella::call(kErfcx, x); }
Tensor Ndtri::call(const Tensor& p) { return lamella::call(kNdtri, p); }
Tensor LogNdtr::call(const Tensor& x) { return lamella::call(kLogNdtr, x); }

Tensor Logit::call(const Tensor& x, const std::optional<double>& eps) {
  Tensor p = as_floating(x, info.name);
  if (eps && *eps > 0.5) {  // the limits are exchanged: the lower one is applied first
    p = where(less(p, *eps), *eps, clip(p, std::nullopt, Scalar(1 - *eps)));
  } else if (eps) {
    p = clip(p, Scalar(*eps), Scalar(1 - *eps));
  }
  // Devices other than the CPU have kernels for the parts only.
  return p.device().is_cpu() ? lamella::call(kLogit, p) : log(p / (1 - p));
}

}  // namespace lamella
