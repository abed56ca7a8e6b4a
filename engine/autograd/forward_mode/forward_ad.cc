#include "engine/autograd/forward_mode/forward_ad.h"

#include "engine/autograd/graph/primitives.h"
#include "engine/autograd/layers/function.h"
#include "engine/autograd/tangents/duals.h"
#include "engine/autograd/tangents/lending.h"
#include "engine/core/error.h"

namespace lamella::autograd {
namespace {

/// Makes another handle on the same memory, at the same place on the tape.
struct AliasLayer : Function<AliasLayer> {
  static constexpr bool kChecksGradients = false;
  static constexpr bool kLinear = true;
  static constexpr std::string_view name = "alias";
  static Tensor forward(Context&, const Tensor& x) { return make_alias(x); }
  static Tensor backward(Context&, const Tensor& dy) { return dy; }
};

/// Returns x with its tangents but the one at `level`.
Tensor without_tangent(const Tensor& x, std::uint64_t level) {
  Tensor result = [&] {
    const HideLevels hide;
    return AliasLayer::apply(x);
  }();
  const Tensor* const inputs[] = {&x};
  Tensor* const outputs[] = {&result};
  track_dual_views(inputs, outputs);
  if (is_dual(x)) share_tangents(x, result);
  set_tangent(result, level, Tensor());
  return result;
}

std::uint64_t level_for(std::optional<std::uint64_t> level, const char* op) {
  const auto innermost = innermost_dual_level();
  if (!innermost) {
    fail<RuntimeError>("[", op, "] there is no level of forward mode on this thread: enter dual_level() first");
  }
  if (level && !is_visible_level(*level)) fail<RuntimeError>("[", op, "] level ", *level, " has ended");
  return level.value_or(*innermost);
}

}  // namespace

Tensor make_dual(const Tensor& primal, const Tensor& tangent, std::optional<std::uint64_t> level) {
  constexpr const char* kOp = "make_dual";
  const std::uint64_t at = level_for(level, kOp);
  if (!primal.defined() || !tangent.defined()) fail<ValueError>("[make_dual] got an undefined tensor");
  if (!is_differentiable(primal.dtype()))
    fail<TypeError>("[make_dual] primal must be of a floating or complex dtype, got ", primal.dtype());
  if (tangent.dtype() != primal.dtype()) {
    fail<TypeError>("[make_dual] the tangent's dtype ", tangent.dtype(), " differs from the primal's, ",
                    primal.dtype());
  }
  if (tangent.shape() != primal.shape()) {
    fail<ValueError>("[make_dual] the tangent's shape ", tangent.shape(), " differs from the primal's, ",
                     primal.shape());
  }
  if (tangent.device() != primal.device()) {
    fail<RuntimeError>("[make_dual] the tangent is on ", tangent.device(), ", the primal on ", primal.device());
  }
  if (tangent_of(primal, at).defined())
    fail<RuntimeError>("[make_dual] the primal has a tangent at this level already: unpack_dual() it first");
  const Tensor* const one[] = {&tangent};
  const Levels own = levels_of(one);
  if (!own.empty() && own.back() >= at) {
    fail<RuntimeError>(
        "[make_dual] the tangent has itself a tangent at this level or at one inside of it: a tangent belongs to the "
        "levels outside of its own");
  }
  const Tensor dual = [&] {
    // Recorded in any case: to the tape the result is the primal, also for a function that turns recording on by
    // itself.
    const EnableGrad recorded;
    return without_tangent(primal, at);
  }();
  set_tangent(dual, at, tangent);
  lend_tangent(dual, at);
  return dual;
}

UnpackedDual unpack_dual(const Tensor& x, std::optional<std::uint64_t> level) {
  constexpr const char* kOp = "unpack_dual";
  if (!x.defined()) fail<ValueError>("[unpack_dual] got an undefined tensor");
  if (!level && !duals_active()) return {x, Tensor()};
  const std::uint64_t at = level_for(level, kOp);
  const auto innermost = innermost_dual_level();
  if (!innermost || at != *innermost)
    fail<RuntimeError>("[unpack_dual] level ", at, " is not the innermost one, and only that can be unpacked");
  Tensor tangent = is_differentiable(x.dtype()) ? tangent_of(x, at) : Tensor();
  if (!tangent.defined()) return {x, Tensor()};
  return {without_tangent(x, at), std::move(tangent)};
}

Tensor off_tape(const Tensor& x) {
  Tensor result = x.detach();
  if (duals_active() && is_differentiable(x.dtype())) share_tangents(x, result);
  return result;
}

JvpResult jvp(const std::function<std::vector<Tensor>(std::span<const Tensor>)>& f, std::span<const Tensor> primals,
              std::span<const Tensor> tangents, bool strict) {
  if (primals.size() != tangents.size())
    fail<ValueError>("[jvp] got ", primals.size(), " primals and ", tangents.size(), " tangents");
  const DualLevel level;
  std::vector<Tensor> duals;
  duals.reserve(primals.size());
  for (std::size_t i = 0; i < primals.size(); ++i) duals.push_back(make_dual(primals[i], tangents[i], level.level()));
  const std::vector<Tensor> results = f(duals);
  JvpResult found;
  for (std::size_t k = 0; k < results.size(); ++k) {
    if (!results[k].defined()) fail<ValueError>("[jvp] the function returned an undefined tensor as output ", k);
    UnpackedDual parts = unpack_dual(results[k], level.level());
    if (!parts.tangent.defined()) {
      if (strict) fail<RuntimeError>("[jvp] output ", k, " does not depend on the primals");
      const Tensor& y = parts.primal;
      parts.tangent = primitives().full(y.shape(), y.dtype(), y.device(), 0.0);
    }
    found.outputs.push_back(std::move(parts.primal));
    found.tangents.push_back(std::move(parts.tangent));
  }
  return found;
}

std::pair<Tensor, Tensor> jvp(const std::function<Tensor(const Tensor&)>& f, const Tensor& primal,
                              const Tensor& tangent) {
  JvpResult found = jvp([&](std::span<const Tensor> inputs) { return std::vector<Tensor>{f(inputs[0])}; },
                        std::span(&primal, 1), std::span(&tangent, 1));
  return {std::move(found.outputs[0]), std::move(found.tangents[0])};
}

}  // namespace lamella::autograd
