#include "ops/special/incomplete_gamma.h"

#include <string>
#include <type_traits>

#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/where.h"
#include "ops/movement/cast.h"
#include "ops/special/operands.h"
#include "ops/special/pairs.h"
#include "ops/support/layer.h"

namespace lamella {
namespace {

constexpr std::int64_t kWork = 64;  // cost of an element, relative to an addition

/// A function and its derivative by x, as a formula of the arguments and of its value y.
struct Rule {
  const char* name;
  special::PairFunction function;
  const special::PairLoops* loops;
  Tensor (*slope)(const Tensor& a, const Tensor& x, const Tensor& y);
  bool reads_y = false;
};

struct IncompleteGammaLayer : OperatorLayer<IncompleteGammaLayer> {
  static std::string name_of(const Context& ctx) { return static_cast<const Rule*>(ctx.tag)->name; }

  static Tensor forward(Context& ctx, const Tensor& a, const Tensor& x, const Rule* rule) {
    ctx.tag = rule;
    const auto run = [&]<class T>(const T* at, std::int64_t step, const T* to, T* y, std::int64_t n) {
      if constexpr (std::is_same_v<T, float>) {
        rule->loops->float32(at, step, to, y, n);
      } else {
        rule->loops->float64(at, step, to, y, n);
      }
    };
    const auto run_there = [rule](const Tensor& at, std::int64_t step, const Tensor& to, const Tensor& y) {
      device_kernel<&DeviceKernels::special_pair>(y.device(), rule->name)(rule->function, at, step, to, y, rule->name);
    };
    Tensor y = special::evaluated<&DeviceKernels::special_pair>(rule->name, a, x, kWork, run, run_there);
    if (ctx.recording()) ctx.save_for_backward(a, x, rule->reads_y ? y : Tensor());
    return y;
  }
  static TensorList backward(Context& ctx, const Tensor& dy) { return {Tensor(), dy * slope(ctx)}; }
  static Tensor jvp(Context& ctx, const Tensor&, const Tensor& dx) { return dx * slope(ctx); }

 private:
  static Tensor slope(Context& ctx) {
    const auto [a, x, y] = ctx.saved_tensors<3>();
    return static_cast<const Rule*>(ctx.tag)->slope(a, x, y);
  }
};

/// Applies a function; `a` counts as a constant.
Tensor apply(const Rule& rule, const Tensor& a, const Tensor& x) { return IncompleteGammaLayer::apply(a, x, &rule); }

constexpr Rule kDensity{
    "gamma_density", special::PairFunction::GammaDensity, &special::kGammaDensity,
    [](const Tensor& a, const Tensor& x, const Tensor& y) { return y * (where(equal(a, 1), 0, (a - 1) / x) - 1); },
    true};
constexpr Rule kLower{GammaInc::info.name, special::PairFunction::GammaInc, &special::kGammaInc,
                      [](const Tensor& a, const Tensor& x, const Tensor&) { return apply(kDensity, a, x); }};
constexpr Rule kUpper{GammaIncC::info.name, special::PairFunction::GammaIncC, &special::kGammaIncC,
                      [](const Tensor& a, const Tensor& x, const Tensor&) { return -apply(kDensity, a, x); }};

Tensor call(const Rule& rule, const Operand& a, const Operand& x) {
  const FloatPair pair(a, x, rule.name);
  return cast(apply(rule, pair.first.detach(), pair.second), pair.dtype);
}

}  // namespace

Tensor GammaInc::call(const Operand& a, const Operand& x) { return lamella::call(kLower, a, x); }
Tensor GammaIncC::call(const Operand& a, const Operand& x) { return lamella::call(kUpper, a, x); }

}  // namespace lamella
