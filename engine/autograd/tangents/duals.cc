#include "engine/autograd/tangents/duals.h"

#include <algorithm>
#include <atomic>
#include <mutex>

#include "engine/autograd/graph/place.h"
#include "engine/autograd/graph/presence.h"
#include "engine/autograd/graph/primitives.h"
#include "engine/autograd/graph/view_geometry.h"
#include "engine/autograd/tangents/lending.h"
#include "engine/core/error.h"
#include "engine/core/thread_state.h"

namespace lamella::autograd {

/// Level that a thread is in. It knows the tangents that end with it.
class LiveLevel {
 public:
  explicit LiveLevel(std::uint64_t number) : number_(number) {}
  LiveLevel(const LiveLevel&) = delete;
  LiveLevel& operator=(const LiveLevel&) = delete;

  std::uint64_t number() const noexcept { return number_; }
  bool has_ended() const noexcept { return ended_; }

  std::shared_ptr<Tensor> keep(const Tensor& tangent) {
    auto value = std::make_shared<Tensor>(tangent);
    if (values_.size() >= sweep_at_) {
      std::erase_if(values_, [](const auto& old) { return old.expired(); });
      sweep_at_ = std::max(kFirstSweep, 2 * values_.size());
    }
    values_.push_back(value);
    return value;
  }

  /// Returns the tangents of the duals that were made of the memory of a base without one, placed where they lie.
  Tensor lent(const Tensor& base) {
    const Lent* const found = find_lent(base);
    return found ? found->whole : Tensor();
  }

  void lend(const Tensor& base, const Tensor& whole) {
    if (Lent* const found = find_lent(base)) {
      found->whole = whole;
      return;
    }
    std::vector<Tensor> freed;  // after the walk over the list
    std::erase_if(lent_, [&](Lent& old) {
      const bool gone = meta_of(old) == nullptr;
      if (gone) freed.push_back(std::move(old.whole));
      return gone;
    });
    lent_.push_back({presence_of(base), whole});
  }

  void end() {
    ended_ = true;
    // Frees the tensors after the walk over the list, as that may run code of the host language.
    std::vector<Tensor> freed;
    for (Lent& old : std::exchange(lent_, {})) freed.push_back(std::move(old.whole));
    for (const auto& weak : values_) {
      if (const auto value = weak.lock()) freed.push_back(std::exchange(*value, Tensor()));
    }
    values_.clear();
  }

 private:
  static constexpr std::size_t kFirstSweep = 256;

  /// Tangents of the duals that were made of the memory of a base.
  struct Lent {
    std::shared_ptr<Presence> base;
    Tensor whole;
  };

  static const AutogradMeta* meta_of(const Lent& lent) {
    const std::lock_guard lock(lent.base->lock);
    return lent.base->meta;
  }

  Lent* find_lent(const Tensor& base) {
    const AutogradMeta* const meta = peek_meta(base);
    if (!meta || lent_.empty()) return nullptr;
    const auto found = std::ranges::find_if(lent_, [&](const Lent& each) { return meta_of(each) == meta; });
    return found == lent_.end() ? nullptr : &*found;
  }

  const std::uint64_t number_;
  std::atomic<bool> ended_{false};
  std::vector<std::weak_ptr<Tensor>> values_;
  std::size_t sweep_at_ = kFirstSweep;
  std::vector<Lent> lent_;
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

Tangent* find_entry(MetaExtras& extras, std::uint64_t level) {
  for (Tangent& entry : extras.tangents) {
    if (entry.level == level) return &entry;
  }
  return nullptr;
}

/// Returns x's entry for a level as it stands; an empty one where there is none.
Tangent read_entry(const Tensor& x, std::uint64_t level) {
  AutogradMeta* const meta = peek_meta(x);
  if (!meta) return {};
  const std::lock_guard lock(meta->lock);
  const Tangent* const entry = meta->extras ? find_entry(*meta->extras, level) : nullptr;
  return entry ? *entry : Tangent();
}

/// Replaces x's entry for the level of `entry`, and drops the entries of ended levels.
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

/// Returns the entry of a tensor. A tracked view takes it from its base where that was written to since.
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

/// Returns `whole` (undefined: zeros), a tangent of `base`, with that of the view `x` in its place.
Tensor with_part(const Tensor& whole, const Tensor& base, const Tensor& x, const Tensor& tangent) {
  const ViewGeometry geometry(base, x);
  const bool all = geometry.shape == geometry.base_shape && geometry.strides == geometry.base_strides &&
                   geometry.base_hides.empty() && geometry.view_hides.empty() &&
                   geometry.base_in_parts == geometry.view_in_parts;
  if (all) return tangent;
  Tensor result = whole.defined() ? primitives().clear_view(whole, geometry) : Tensor();
  if (!tangent.defined()) return result;
  const Tensor part = primitives().place_view(tangent, geometry);
  return result.defined() ? primitives().add(result, part) : part;
}

void add_level(Levels& levels, std::uint64_t level) {
  const auto* const at = std::ranges::lower_bound(levels, level);
  if (at == levels.end() || *at != level) levels.insert(at, level);
}

void add_levels(Levels& levels, const Tensor& x) {
  // Asks the base too, as a view may have a tangent by its base alone.
  const auto has_entries = [](const Tensor& y) {
    AutogradMeta* const meta = peek_meta(y);
    if (!meta) return false;
    const std::lock_guard lock(meta->lock);
    return meta->extras && !meta->extras->tangents.empty();
  };
  if (!has_entries(x) && !(is_tracked(x) && has_entries(base_of(x)))) return;
  // Copied, as looking an entry up hides levels for a while.
  const auto live_levels = thread_state().dual_levels;
  for (const auto& live : live_levels) {
    if (value_of(current_entry(x, live->number())).defined()) add_level(levels, live->number());
  }
}

/// Throws RuntimeError for a value that a layer's forward computed where tangents are not followed, in a backward that
/// runs with tangents.
void refuse_intermediate(const Tensor& x) {
  const Node* const layer = modes().recorded_backward;
  if ((x->flags & TensorImpl::kDerived) == 0 || !layer || !layer->was_called_dual()) return;
  fail<RuntimeError>("[", layer->name(),
                     "] forward mode reached a value that the layer computed in forward, where nothing is followed: "
                     "its own tangent is unknown, and the result would be wrong. Save inputs or outputs of the layer "
                     "instead, and compute the value again in backward or jvp");
}

}  // namespace

std::uint64_t enter_dual_level() {
  auto level = std::make_shared<LiveLevel>(next_scope_level());
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

bool is_visible_level(std::uint64_t level) noexcept { return find_visible(level) != nullptr; }

HideLevels::HideLevels(std::uint64_t from) : before_(thread_state().dual_levels) {
  std::erase_if(thread_state().dual_levels, [&](const auto& live) { return live->number() >= from; });
  update_flag();
}

HideLevels::~HideLevels() {
  thread_state().dual_levels = std::move(before_);
  update_flag();
}

RepeatedLevels::RepeatedLevels(const std::vector<std::shared_ptr<LiveLevel>>& levels)
    : before_(thread_state().dual_levels) {
  std::vector<std::shared_ptr<LiveLevel>> entered = levels;
  for (std::shared_ptr<LiveLevel>& level : entered) {
    if (!level->has_ended()) continue;
    level = std::make_shared<LiveLevel>(level->number());
    begun_.push_back(level);
  }
  thread_state().dual_levels = std::move(entered);
  update_flag();
}

RepeatedLevels::~RepeatedLevels() {
  thread_state().dual_levels = std::move(before_);
  update_flag();
  for (const auto& level : begun_) level->end();
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

void lend_tangent(const Tensor& dual, std::uint64_t level) {
  LiveLevel* const live = find_visible(level);
  if (!live || !is_tracked(dual)) return;
  const Tensor base = base_of(dual);
  const Tensor tangent = tangent_of(dual, level);
  const Tangent own = read_entry(base, level);
  Tensor whole;
  {
    const HideLevels hide(level);
    whole = with_part(own.writes == 0 ? live->lent(base) : value_of(own), base, dual, tangent);
  }
  if (own.writes == 0) {
    live->lend(base, whole);
  } else {
    write_entry(base, {level, live->keep(whole), own.writes});
  }
}

Tangent make_tangent(std::uint64_t level, const Tensor& tangent) {
  LiveLevel* const live = find_visible(level);
  return {level, live ? live->keep(tangent) : nullptr, 0};
}

void share_tangents(const Tensor& from, const Tensor& to) {
  const auto live_levels = thread_state().dual_levels;  // copied, as looking an entry up hides levels for a while
  for (const auto& live : live_levels) {
    Tangent entry = current_entry(from, live->number());
    if (entry.level == 0) continue;
    entry.writes = is_tracked(to) ? read_entry(base_of(to), entry.level).writes : 0;
    write_entry(to, std::move(entry));
  }
}

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
  Tensor whole;
  {
    const HideLevels hide(level);
    whole = with_part(before.writes == 0 && !before.value ? live->lent(base) : value_of(before), base, x, tangent);
  }
  write_entry(base, {level, kept(whole), before.writes + 1});
  write_entry(x, {level, kept(tangent), before.writes + 1});
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
      note_dual_writes(base_of(*y), *y);  // the view was made while all levels were hidden
      continue;
    }
    if (((*y)->flags & TensorImpl::kView) == 0) continue;
    if (const Tensor* const shown = shown_input(inputs, *y); shown && track_view(*shown, *y, true)) {
      note_dual_writes(base_of(*y), *y);
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

}  // namespace lamella::autograd
