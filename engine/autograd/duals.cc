#include "engine/autograd/duals.h"

#include <algorithm>
#include <mutex>
#include <optional>

#include "engine/autograd/backward.h"
#include "engine/autograd/primitives.h"
#include "engine/autograd/recorder.h"
#include "engine/autograd/thread_state.h"
#include "engine/autograd/views.h"
#include "engine/core/error.h"

namespace lamella::autograd {

/// A level that a thread is in. It knows the tangents that end with it.
class LiveLevel {
 public:
  LiveLevel() = default;
  LiveLevel(const LiveLevel&) = delete;
  LiveLevel& operator=(const LiveLevel&) = delete;

  std::uint64_t number() const noexcept { return number_; }

  std::shared_ptr<Tensor> keep(const Tensor& tangent) {
    auto value = std::make_shared<Tensor>(tangent);
    if (values_.size() >= sweep_at_) {
      std::erase_if(values_, [](const auto& old) { return old.expired(); });
      sweep_at_ = std::max(kFirstSweep, 2 * values_.size());
    }
    values_.push_back(value);
    return value;
  }

  void end() {
    // Freeing a tensor may run code of the host language: not while the list is walked.
    std::vector<Tensor> freed;
    for (const auto& weak : values_) {
      if (const auto value = weak.lock()) freed.push_back(std::exchange(*value, Tensor()));
    }
    values_.clear();
  }

 private:
  static constexpr std::size_t kFirstSweep = 256;

  const std::uint64_t number_ = next_level();
  std::vector<std::weak_ptr<Tensor>> values_;
  std::size_t sweep_at_ = kFirstSweep;
};

namespace {

void update_flag() noexcept {
  std::uint8_t& interceptors = modes().interceptors;
  constexpr std::uint8_t kDuals = Modes::kDuals;
  interceptors =
      static_cast<std::uint8_t>(thread_state().dual_levels.empty() ? interceptors & ~kDuals : interceptors | kDuals);
}

LiveLevel* find_visible(std::uint64_t level) noexcept {
  for (const auto& live : thread_state().dual_levels) {
    if (live->number() == level) return live.get();
  }
  return nullptr;
}

/// What stands in the place of the node that an input with a tangent has not got: its edge says that the input matters.
class DualInput final : public Node {
 public:
  std::string name() const override { return "DualInput"; }
  TensorList run(TensorList) override { return {}; }
};

Tangent* find_entry(MetaExtras& extras, std::uint64_t level) {
  for (Tangent& entry : extras.tangents) {
    if (entry.level == level) return &entry;
  }
  return nullptr;
}

/// x's entry for a level as it stands; an empty one where there is none.
Tangent read_entry(const Tensor& x, std::uint64_t level) {
  AutogradMeta* const meta = peek_meta(x);
  if (!meta) return {};
  const std::lock_guard lock(meta->lock);
  const Tangent* const entry = meta->extras ? find_entry(*meta->extras, level) : nullptr;
  return entry ? *entry : Tangent();
}

/// Puts an entry in the place of the one of its level; those of ended levels go.
void write_entry(const Tensor& x, Tangent entry) {
  AutogradMeta& meta = make_meta(x);
  SmallVector<Tangent, 1> before;  // freed after the lock
  const std::lock_guard lock(meta.lock);
  MetaExtras& extras = meta.make_extras();
  SmallVector<Tangent, 1> entries;
  for (const Tangent& old : extras.tangents) {
    if (old.level != entry.level && !(old.value && !old.value->defined())) entries.push_back(old);
  }
  const auto* const at = std::ranges::find_if(entries, [&](const Tangent& old) { return old.level > entry.level; });
  entries.insert(at, std::move(entry));
  before = std::exchange(extras.tangents, std::move(entries));
}

bool is_tracked(const Tensor& x) { return (x->flags & TensorImpl::kTracked) != 0; }

/// The entry of a tensor, which a view looks up in its base where that was written to since.
Tangent current_entry(const Tensor& x, std::uint64_t level) {
  Tangent own = read_entry(x, level);
  if (!is_tracked(x)) return own;
  const Tensor base = base_of(x);
  const Tangent whole = read_entry(base, level);
  if (whole.level == 0 || whole.writes == own.writes) return own;
  Tensor part;
  if (whole.value && whole.value->defined()) {
    const HideLevels hide(level);
    part = primitives().take_view(*whole.value, ViewGeometry(base, x));
  }
  LiveLevel* const live = find_visible(level);
  Tangent entry{level, part.defined() && live ? live->keep(part) : nullptr, whole.writes};
  write_entry(x, entry);
  return entry;
}

Tensor value_of(const Tangent& entry) { return entry.value ? *entry.value : Tensor(); }

void add_level(Levels& levels, std::uint64_t level) {
  const auto* const at = std::ranges::lower_bound(levels, level);
  if (at == levels.end() || *at != level) levels.insert(at, level);
}

void add_levels(Levels& levels, const Tensor& x) {
  // A view may have a tangent by its base alone.
  const auto has_entries = [](const Tensor& y) {
    AutogradMeta* const meta = peek_meta(y);
    if (!meta) return false;
    const std::lock_guard lock(meta->lock);
    return meta->extras && !meta->extras->tangents.empty();
  };
  if (!has_entries(x) && !(is_tracked(x) && has_entries(base_of(x)))) return;
  // A copy: looking an entry up hides levels for a while.
  const auto live_levels = thread_state().dual_levels;
  for (const auto& live : live_levels) {
    if (value_of(current_entry(x, live->number())).defined()) add_level(levels, live->number());
  }
}

/// RuntimeError for a value that a layer's forward computed where no tangents were, in a backward that runs with them.
void refuse_intermediate(const Tensor& x) {
  const Node* const layer = modes().recorded_backward;
  if ((x->flags & TensorImpl::kDerived) == 0 || !layer || !layer->context()) return;
  const Context::Extras* const extras = layer->context()->peek_extras();
  if (!extras || std::ranges::none_of(extras->dual_levels, find_visible)) return;
  fail<RuntimeError>("[", layer->name(),
                     "] forward mode reached a value that the layer computed in forward, where nothing is followed: "
                     "its own tangent is unknown, and the result would be wrong. Save inputs or outputs of the layer "
                     "instead, and compute the value again in backward or jvp");
}

bool any_wants(const TensorList& tensors) {
  return std::ranges::any_of(tensors, [](const Tensor& x) { return x.defined() && wants_gradient(x); });
}

/// After a write into x, at one level: x's tangent is `tangent` now, and its base's has that part.
void write_tangent(const Tensor& x, std::uint64_t level, const Tensor& tangent) {
  LiveLevel* const live = find_visible(level);
  if (!live) return;
  const auto kept = [&](const Tensor& value) { return value.defined() ? live->keep(value) : nullptr; };
  if (!is_tracked(x)) {
    const std::uint32_t writes = read_entry(x, level).writes + 1;
    write_entry(x, {level, kept(tangent), writes});
    return;
  }
  const Tensor base = base_of(x);
  const Tangent before = current_entry(base, level);
  const Tensor old = value_of(before);
  Tensor whole;
  {
    const HideLevels hide(level);
    const ViewGeometry geometry(base, x);
    if (old.defined()) whole = primitives().clear_view(old, geometry);
    if (tangent.defined()) {
      const Tensor part = primitives().place_view(tangent, geometry);
      whole = whole.defined() ? primitives().add(whole, part) : part;
    }
  }
  write_entry(base, {level, kept(whole), before.writes + 1});
  write_entry(x, {level, kept(tangent), before.writes + 1});
}

}  // namespace

std::uint64_t enter_dual_level() {
  auto level = std::make_shared<LiveLevel>();
  const std::uint64_t number = level->number();
  thread_state().dual_levels.push_back(std::move(level));
  update_flag();
  return number;
}

void exit_dual_level(std::uint64_t level) {
  auto& levels = thread_state().dual_levels;
  if (levels.empty() || levels.back()->number() != level) {
    fail<RuntimeError>("[exit_dual_level] level ", level,
                       " is not the innermost one of this thread: levels end in the reverse order of their beginning");
  }
  const std::shared_ptr<LiveLevel> ended = std::move(levels.back());
  levels.pop_back();
  update_flag();
  ended->end();
}

std::optional<std::uint64_t> innermost_dual_level() {
  const auto& levels = thread_state().dual_levels;
  return levels.empty() ? std::nullopt : std::optional(levels.back()->number());
}

bool is_visible_level(std::uint64_t level) { return find_visible(level) != nullptr; }

HideLevels::HideLevels(std::uint64_t from) : before_(thread_state().dual_levels) {
  std::erase_if(thread_state().dual_levels, [&](const auto& live) { return live->number() >= from; });
  update_flag();
}

HideLevels::~HideLevels() {
  thread_state().dual_levels = std::move(before_);
  update_flag();
}

Levels levels_of(std::span<const Tensor* const> tensors) {
  Levels levels;
  for (const Tensor* x : tensors) {
    if (!x->defined() || !is_differentiable(x->dtype())) continue;
    if ((*x)->flags & TensorImpl::kDerived) refuse_intermediate(*x);
    add_levels(levels, *x);
  }
  return levels;
}

bool is_dual(const Tensor& x) {
  const Tensor* const one[] = {&x};
  return !levels_of(one).empty();
}

bool has_tangents(const Tensor& x) {
  AutogradMeta* const meta = peek_meta(x);
  if (!meta) return false;
  const std::lock_guard lock(meta->lock);
  if (!meta->extras) return false;
  return std::ranges::any_of(meta->extras->tangents, [](const Tangent& entry) { return value_of(entry).defined(); });
}

Tensor tangent_of(const Tensor& x, std::uint64_t level) { return value_of(current_entry(x, level)); }

void set_tangent(const Tensor& x, std::uint64_t level, const Tensor& tangent) {
  LiveLevel* const live = find_visible(level);
  if (!live) return;
  const Tangent whole = is_tracked(x) ? read_entry(base_of(x), level) : Tangent();
  if (!tangent.defined() && whole.level == 0 && read_entry(x, level).level == 0) return;
  write_entry(x, {level, tangent.defined() ? live->keep(tangent) : nullptr, whole.writes});
}

Tangent make_tangent(std::uint64_t level, const Tensor& tangent) {
  LiveLevel* const live = find_visible(level);
  return {level, live ? live->keep(tangent) : nullptr, 0};
}

void share_tangents(const Tensor& from, const Tensor& to) {
  const auto live_levels = thread_state().dual_levels;  // a copy: looking an entry up hides levels for a while
  for (const auto& live : live_levels) {
    Tangent entry = current_entry(from, live->number());
    if (entry.level == 0) continue;
    entry.writes = is_tracked(to) ? read_entry(base_of(to), entry.level).writes : 0;
    write_entry(to, std::move(entry));
  }
}

void move_tangents(const Tensor& x, const Tensor& result) {
  Levels levels;
  add_levels(levels, x);
  if (result.defined()) add_levels(levels, result);
  for (const std::uint64_t level : levels) {
    write_tangent(x, level, result.defined() ? tangent_of(result, level) : Tensor());
  }
}

void track_dual_views(std::span<const Tensor* const> inputs, std::span<Tensor* const> outputs) {
  for (Tensor* y : outputs) {
    if (is_tracked(*y)) {
      note_dual_writes(base_of(*y), *y);  // made while all levels were hidden
      continue;
    }
    if (((*y)->flags & TensorImpl::kView) == 0) continue;
    for (const Tensor* x : inputs) {
      if ((*x)->storage != (*y)->storage || x->same(*y)) continue;
      track_view(*x, *y, true);
      break;
    }
  }
}

void note_dual_writes(const Tensor& base, const Tensor& view) {
  Levels written;
  if (AutogradMeta* const meta = peek_meta(base)) {
    const std::lock_guard lock(meta->lock);
    if (!meta->extras) return;
    for (const Tangent& entry : meta->extras->tangents) {
      if (entry.writes != 0 && !(entry.value && !entry.value->defined())) written.push_back(entry.level);
    }
  }
  for (const std::uint64_t level : written) write_entry(view, {level, nullptr, read_entry(base, level).writes});
}

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
  // Intermediates keep the mark for as long as jvp or backward may read them; results do not.
  for (Tensor* y : outputs) {
    if ((*y)->flags & TensorImpl::kDerived) (*y)->flags &= static_cast<std::uint8_t>(~TensorImpl::kDerived);
  }
  finish_unrecorded(ctx, inputs, outputs, dialect);
  ctx.drop_marks();
}

void DualCall::connect_outputs(const Ref<Node>& node, Context& ctx, bool recording,
                               std::span<const Tensor* const> inputs, std::span<Tensor* const> outputs) {
  connect_outputs(node, ctx, recording, inputs, outputs, Dialect());
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
      // Nothing to record where neither the inputs nor their tangents want a gradient.
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
      const Tensor seed = primitives().full(y.shape(), y.dtype(), y.device(), 1.0);
      seed.set_requires_grad(true);
      grads[k] = primitives().clone(seed);  // no leaf: backward may change it in place
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
  const Context* const ctx = layer.context();
  const Context::Extras* const extras = ctx ? ctx->peek_extras() : nullptr;
  const bool called_dual = extras && std::ranges::any_of(extras->dual_levels, find_visible);
  if (!called_dual && !any_dual(std::span(grads.data(), grads.size()))) return;
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
