#include "engine/autograd/layers/dual_call.h"

#include <algorithm>
#include <optional>

#include "engine/autograd/backward/backward.h"
#include "engine/autograd/graph/place.h"
#include "engine/autograd/graph/primitives.h"
#include "engine/autograd/graph/running_pass.h"
#include "engine/core/error.h"

namespace lamella::autograd {
namespace {

/// Stands in for the node of an input that has a tangent and no node: the edge says that the input matters.
class DualInput final : public Node {
 public:
  std::string name() const override { return "DualInput"; }
  TensorList run(TensorList) override { return {}; }
};

bool any_wants(const TensorList& tensors) {
  return std::ranges::any_of(tensors, [](const Tensor& x) { return x.defined() && wants_gradient(x); });
}

/// Returns ones of y's shape, hidden axes included: one seed for all examples of a batch would get the sum of theirs.
Tensor ones_like(const Tensor& y) {
  if (!y->hidden) return primitives().full(y.shape(), y.dtype(), y.device(), 1.0);
  Dims shape;
  for (const HiddenAxis& axis : *y->hidden) shape.push_back(axis.size);
  for (const std::int64_t size : y.shape()) shape.push_back(size);
  Tensor ones = primitives().full(shape, y.dtype(), y.device(), 1.0);
  const NoGrad off;
  for (const HiddenAxis& axis : *y->hidden) ones = primitives().hide_axis(ones, axis.level);
  return ones;
}

}  // namespace

DualCall::DualCall(std::span<const Tensor* const> inputs) {
  const Levels levels = levels_of(inputs);
  if (levels.empty()) return;
  for (const Tensor* x : inputs) inputs_.push_back(*x);
  for (const std::uint64_t level : levels) {
    AtLevel& at = levels_.emplace_back();
    at.level = level;
    for (const Tensor& x : inputs_)
      at.tangents.push_back(is_differentiable(x.dtype()) ? tangent_of(x, level) : Tensor());
  }
  recorded_ = is_grad_enabled() && any_wants(inputs_);
}

void DualCall::connect_inputs(Node& node) const {
  Ref<Node> stand_in;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const bool dual = std::ranges::any_of(levels_, [&](const AtLevel& at) { return at.tangents[i].defined(); });
    if (!dual || node.edges()[i]) continue;
    if (!stand_in) stand_in = Ref<Node>::adopt(new DualInput);
    node.set_edge(i, {stand_in, 0});
  }
}

void DualCall::connect_outputs(const Ref<Node>& node, Context& ctx, bool recording,
                               std::span<const Tensor* const> inputs, std::span<Tensor* const> outputs,
                               const Dialect& dialect) {
  for (Tensor* y : outputs) {
    const bool input = std::ranges::any_of(inputs, [&](const Tensor* x) { return x->same(*y); });
    kept_.push_back(!input && (*y)->use_count() > 1 ? *y : Tensor());
  }
  if (const Context::Extras* extras = ctx.peek_extras()) constants_ = extras->non_differentiable;
  if (recording) {
    autograd::connect_outputs(node, ctx, inputs, outputs, dialect);
    return;
  }
  node->set_output_count(static_cast<std::uint32_t>(outputs.size()));
  // Unmarks results; intermediates keep the mark for as long as jvp or backward may read them.
  for (Tensor* y : outputs) {
    if ((*y)->flags & TensorImpl::kDerived) (*y)->flags &= static_cast<std::uint8_t>(~TensorImpl::kDerived);
  }
  finish_unrecorded(ctx, inputs, outputs, dialect);
  ctx.drop_marks();
}

void DualCall::finish(Node* node, Context* ctx, std::span<Tensor* const> outputs, const Rule& rule) {
  if (ctx) {
    auto& noted = ctx->extras().dual_levels;
    for (const AtLevel& at : levels_) noted.push_back(at.level);
  }
  for (const AtLevel& at : levels_) {
    TensorList tangents;
    {
      const HideLevels hide(at.level);
      const OutsidePass outside;
      // Records only where an input or its tangent wants a gradient.
      const GradMode mode(is_grad_enabled() && (recorded_ || any_wants(at.tangents)));
      std::optional<RecordedBackward> scope;
      if (node) scope.emplace(*node);
      tangents = rule(at.tangents);
    }
    attach(at.level, tangents, outputs, ctx);
  }
  if (!node) return;
  for (std::size_t i = 0; i < node->edges().size(); ++i) {
    if (dynamic_cast<const DualInput*>(node->edges()[i].node.get())) node->set_edge(i, {});
  }
}

void DualCall::attach(std::uint64_t level, const TensorList& tangents, std::span<Tensor* const> outputs,
                      Context* ctx) const {
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    const Tensor& y = *outputs[k];
    const Tensor& given = k < kept_.size() ? kept_[k] : Tensor();
    const bool constant = !is_differentiable(y.dtype()) ||
                          std::ranges::any_of(constants_, [&](const Tensor& x) { return x.same(y) || x.same(given); });
    const Tensor tangent = constant ? Tensor() : tangents[k];
    if (std::ranges::any_of(inputs_, [&](const Tensor& x) { return x.same(y); })) {
      write_tangent(y, level, tangent);
    } else if (tangent.defined()) {
      set_tangent(y, level, tangent);
    }
    if (!tangent.defined()) continue;
    if (given.defined() && !given.same(y)) set_tangent(given, level, tangent);
    if (!ctx) continue;
    for (SavedTensor& saved : ctx->saved()) {
      if (saved.is_output(static_cast<std::uint32_t>(k))) saved.take_tangent(level, tangent);
    }
  }
}

TensorList DualCall::transpose(Node& node, std::span<Tensor* const> outputs, const TensorList& tangents) const {
  const bool recorded = is_grad_enabled();
  std::vector<Tensor> seeds;
  std::vector<std::size_t> seeded;
  TensorList grads(outputs.size());
  {
    const EnableGrad recording;
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      const Tensor& y = *outputs[k];
      if (!is_differentiable(y.dtype())) continue;
      const Tensor seed = ones_like(y);
      seed.set_requires_grad(true);
      grads[k] = primitives().clone(seed);  // a copy, and no leaf: backward may change it in place
      seeds.push_back(seed);
      seeded.push_back(k);
    }
    grads = node.run(std::move(grads));
  }
  std::vector<Tensor> reached;
  std::vector<Tensor> directions;
  for (std::size_t i = 0; i < tangents.size() && i < grads.size(); ++i) {
    if (!tangents[i].defined() || !grads[i].defined()) continue;
    if (grads[i].requires_grad()) {
      reached.push_back(grads[i]);
      directions.push_back(tangents[i]);
    } else if (primitives().any_nonzero(grads[i])) {
      fail<RuntimeError>("[", node.name(),
                         "] backward does not compute with recorded operators, so that forward mode cannot follow it: "
                         "define jvp");
    }
  }
  TensorList results(outputs.size());
  if (reached.empty()) return results;
  std::vector<Tensor> found = grad(reached, seeds, directions, {.create_graph = recorded, .allow_unused = true});
  for (std::size_t i = 0; i < found.size(); ++i) results[seeded[i]] = std::move(found[i]);
  return results;
}

TensorList DualCall::prepare(const Context& ctx, TensorList tangents) const {
  if (!ctx.materialize_grads()) return tangents;
  for (std::size_t i = 0; i < tangents.size(); ++i) {
    const Tensor& x = inputs_[i];
    if (!tangents[i].defined() && is_differentiable(x.dtype()))
      tangents[i] = primitives().full(x.shape(), x.dtype(), x.device(), 0.0);
  }
  return tangents;
}

TensorList conform_tangents(const Node& node, std::span<Tensor* const> outputs, TensorList tangents) {
  if (tangents.size() != outputs.size()) {
    fail<ValueError>("[", node.name(), "] jvp returned ", tangents.size(),
                     tangents.size() == 1 ? " tangent" : " tangents", ", expected ", outputs.size(),
                     ", one for each tensor that forward returned");
  }
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    const Tensor& y = *outputs[k];
    Tensor& t = tangents[k];
    if (!t.defined() || !is_differentiable(y.dtype())) continue;
    if (t.shape() != y.shape()) {
      fail<ValueError>("[", node.name(), "] jvp returned a tangent of shape ", t.shape(), " for output ", k,
                       ", which has the shape ", y.shape());
    }
    if (t.device() != y.device()) {
      fail<RuntimeError>("[", node.name(), "] jvp returned a tangent on ", t.device(), " for output ", k,
                         ", which is on ", y.device());
    }
    if (t.dtype() != y.dtype()) t = primitives().cast(t, y.dtype());
  }
  return tangents;
}

void refuse_once_dual(const Node& layer, const TensorList& grads) {
  if (!layer.was_called_dual() && !any_dual(std::span(grads.data(), grads.size()))) return;
  fail<RuntimeError>("[", layer.name(),
                     "] the layer's backward is marked once_differentiable: its gradient has no derivative, which "
                     "forward mode asked for");
}

void fail_no_jvp(const Node& layer) {
  fail<RuntimeError>("[", layer.name(),
                     "] the layer's backward is marked once_differentiable, so that forward mode cannot be derived "
                     "from it: define jvp");
}

}  // namespace lamella::autograd
