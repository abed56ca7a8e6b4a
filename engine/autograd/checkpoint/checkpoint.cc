#include "engine/autograd/checkpoint/checkpoint.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <string>

#include "engine/autograd/autocast/autocast.h"
#include "engine/autograd/checkpoint/checkpoint_holder.h"
#include "engine/autograd/checkpoint/checkpoint_input.h"
#include "engine/autograd/graph/place.h"
#include "engine/autograd/graph/running_pass.h"
#include "engine/autograd/saved/saved_tensor.h"
#include "engine/autograd/tangents/duals.h"
#include "engine/core/host.h"
#include "engine/core/thread_state.h"
#include "engine/runtime/generator.h"
#include "engine/runtime/random_lease.h"

// Note [Checkpoints]
// While a checkpoint's function runs first, hooks save a place holder for each tensor. The graph is an ordinary one,
// but for that. When backward unpacks the first of them, the function runs again, recorded, with hooks that hand the
// n-th tensor saved to the n-th holder; the graph made thereby is dropped. As holders belong to the graph made first,
// which gives unpacked tensors their places on the tape, the second run is for values only: double backward, hooks on
// tensors and named inputs know nothing of it.
//
// The holders own the frame, which owns the function: with the last node that saved something, all of it is freed. The
// frame keeps its inputs off the tape, as saved tensors of its own: inside another checkpoint they are holders of that
// one, and unpacking them runs the outer function up to here.
//
// Values that were computed again belong to the pass that asked: concurrent and nested passes each have their own. A
// value is dropped with its holder (backward frees holders that it no longer needs), or, with retain_graph, when the
// next node asks: so memory stays low, and a node may ask for its tensors more than once.

namespace lamella::autograd {
namespace {

std::atomic<int> live_frames{0};

/// Counts the live frames, also one whose construction fails.
struct CountedFrame {
  CountedFrame() noexcept { live_frames.fetch_add(1, std::memory_order_relaxed); }
  ~CountedFrame() { live_frames.fetch_sub(1, std::memory_order_relaxed); }
  CountedFrame(const CountedFrame&) = delete;
  CountedFrame& operator=(const CountedFrame&) = delete;
};

/// Returns the key of the running pass in the holders' tables. Outside a pass every request has a key of its own.
std::uint64_t key_of_pass() {
  const std::uint64_t pass = current_pass_id();
  return pass ? pass * 2 : next_level() * 2 + 1;
}

class CheckpointNode final : public Node {
 public:
  std::string name() const override { return "checkpoint"; }
  TensorList run(TensorList) override { return {}; }
};

}  // namespace

/// State that a checkpoint keeps for its second run.
class CheckpointFrame : public std::enable_shared_from_this<CheckpointFrame> {
 public:
  CheckpointFrame(CheckpointScope::Recompute recompute, std::span<const Tensor* const> inputs,
                  const CheckpointOptions& options)
      : recompute_(std::move(recompute)),
        options_(options),
        autocast_(AutocastState::now()),
        created_at_(current_source_line()) {
    if (options.preserve_rng_state) {
      lease_ = std::make_unique<RandomLease>();
      random_ = RandomState::now();
    }
    for (const Tensor* x : inputs) inputs_.emplace_back(*x, *label_);
    if (options.policy) {
      kept_ = std::make_shared<KeptCalls>();
      kept_->policy = std::move(options_.policy);
      kept_->preserve_rng_state = options.preserve_rng_state;
      kept_->check = options.check;
      kept_->label = label_;
    }
  }

  const CheckpointScope::Recompute& recompute() const noexcept { return recompute_; }
  const std::vector<CheckpointInput>& inputs() const noexcept { return inputs_; }
  long owners() const noexcept { return weak_from_this().use_count(); }
  const std::shared_ptr<KeptCalls>& kept() const noexcept { return kept_; }
  const std::shared_ptr<ReadLog>& reads() const noexcept { return reads_; }
  Ref<LevelRun> level_run(bool repeats) const { return Ref<LevelRun>::adopt(new LevelRun(levels_, repeats)); }
  void set_complete() noexcept {
    complete_ = true;
    if (kept_) kept_->complete = true;
  }
  void end_first_run() {
    lease_.reset();
    if (kept_) kept_->policy = nullptr;
  }

  std::shared_ptr<CheckpointHolder> new_holder(const Tensor& x, const Node& owner) {
    auto holder = std::make_shared<CheckpointHolder>(shared_from_this(), owner.name(), x);
    holders_.push_back(holder);
    return holder;
  }

  Tensor value(const std::shared_ptr<CheckpointHolder>& holder, const Node& owner) {
    const bool in_pass = current_pass_id() != 0;
    const std::uint64_t key = key_of_pass();
    if (in_pass) notes_of_pass(key).handed_to(holder, owner);
    Tensor x = holder->get(key);
    if (!x.defined()) {
      run_again(key);
      x = holder->get(key);
      if (!in_pass) drop(key);
    }
    if (!x.defined()) {
      fail<RuntimeError>("[checkpoint] the function did not save what its ", holder->op,
                         " saved in forward when it ran again for backward: it must do the same on each call");
    }
    return x;
  }

 private:
  class SecondRun;

  /// Holders whose values a pass has been given from this frame.
  class PassNotes {
   public:
    PassNotes(const std::shared_ptr<CheckpointFrame>& frame, std::uint64_t key) : frame_(frame), key_(key) {}
    ~PassNotes() {
      if (const auto frame = frame_.lock()) frame->drop(key_);
    }
    PassNotes(const PassNotes&) = delete;
    PassNotes& operator=(const PassNotes&) = delete;

    bool belongs_to(const CheckpointFrame& frame) const { return frame_.lock().get() == &frame; }
    /// Notes that the node was given the holder's value. Values given to another node before are dropped, as they have
    /// served.
    void handed_to(const std::shared_ptr<CheckpointHolder>& holder, const Node& owner) {
      if (owner_ != &owner) {
        for (const auto& handed : handed_) {
          if (const auto alive = handed.lock()) alive->drop(key_);
        }
        handed_.clear();
      }
      owner_ = &owner;
      handed_.push_back(holder);
    }

   private:
    std::weak_ptr<CheckpointFrame> frame_;
    std::uint64_t key_;
    const Node* owner_ = nullptr;
    std::vector<std::weak_ptr<CheckpointHolder>> handed_;
  };

  PassNotes& notes_of_pass(std::uint64_t key) {
    std::any& data = pass_data(this);
    auto* notes = std::any_cast<std::shared_ptr<PassNotes>>(&data);
    // Begins new notes where those found are of another frame, freed since, that was at this address.
    if (!notes || !(*notes)->belongs_to(*this)) {
      data = std::make_shared<PassNotes>(shared_from_this(), key);
      notes = std::any_cast<std::shared_ptr<PassNotes>>(&data);
    }
    return **notes;
  }

  void drop(std::uint64_t key) {
    for (const auto& holder : holders_) {
      if (const auto alive = holder.lock()) alive->drop(key);
    }
  }

  std::vector<Tensor> unpack_inputs() {
    std::vector<Tensor> inputs;
    inputs.reserve(inputs_.size());
    for (std::size_t i = 0; i < inputs_.size(); ++i) inputs.push_back(inputs_[i].unpack(*label_, i, created_at_));
    return inputs;
  }

  void run_again(std::uint64_t key);

  const CountedFrame counted_;
  CheckpointScope::Recompute recompute_;
  CheckpointOptions options_;
  AutocastState autocast_;
  SourceLine created_at_;
  Ref<Node> label_ = Ref<Node>::adopt(new CheckpointNode);
  std::vector<CheckpointInput> inputs_;
  /// Levels of forward mode that forward ran in.
  const std::vector<std::shared_ptr<LiveLevel>> dual_levels_ = thread_state().dual_levels;
  /// Held in the first run only.
  std::unique_ptr<RandomLease> lease_;
  std::optional<RandomState> random_;
  std::shared_ptr<KeptCalls> kept_;
  const std::shared_ptr<ReadLog> reads_ = std::make_shared<ReadLog>();
  /// Levels of vmap and of forward mode that the function entered.
  const std::shared_ptr<std::vector<std::uint64_t>> levels_ = std::make_shared<std::vector<std::uint64_t>>();
  /// Calls of vmap that forward ran in.
  const std::vector<std::uint64_t> batch_levels_ = thread_state().batch_levels;
  const std::vector<BatchScope> batch_scopes_ = thread_state().batch_scopes;
  /// Holders in the order in which the first run saved; freed ones keep their places.
  std::vector<std::weak_ptr<CheckpointHolder>> holders_;
  bool complete_ = false;
};

namespace {

class FirstRun final : public SavedTensorHooks {
 public:
  explicit FirstRun(std::shared_ptr<CheckpointFrame> frame) : frame_(std::move(frame)) {}
  std::any pack(const Tensor& x, const Node& owner) const override { return frame_->new_holder(x, owner); }
  Tensor unpack(const std::any& packed, const Node& owner) const override {
    return frame_->value(std::any_cast<const std::shared_ptr<CheckpointHolder>&>(packed), owner);
  }
  const Tensor* tensor_in(const std::any&) const override { return nullptr; }
  const CheckpointFrame* frame() const noexcept { return frame_.get(); }

 private:
  std::shared_ptr<CheckpointFrame> frame_;
};

/// Restores, at the end of a scope, the modes and the thread state that a second run changes.
class ScopeGuard {
 public:
  ScopeGuard()
      : modes_(modes()),
        selection_(thread_state().selection),
        level_run_(thread_state().level_run),
        batch_levels_(thread_state().batch_levels),
        batch_scopes_(thread_state().batch_scopes) {}
  ~ScopeGuard() {
    modes() = modes_;
    ThreadState& state = thread_state();
    state.batch_scopes = std::move(batch_scopes_);
    state.batch_levels = std::move(batch_levels_);
    state.level_run = std::move(level_run_);
    state.selection = std::move(selection_);
  }
  ScopeGuard(const ScopeGuard&) = delete;
  ScopeGuard& operator=(const ScopeGuard&) = delete;

 private:
  Modes modes_;
  std::shared_ptr<Selection> selection_;
  Ref<LevelRun> level_run_;
  std::vector<std::uint64_t> batch_levels_;
  std::vector<BatchScope> batch_scopes_;
};

class PushedHooks {
 public:
  explicit PushedHooks(std::shared_ptr<const SavedTensorHooks> hooks) : hooks_(hooks.get()) {
    push_saved_tensor_hooks(std::move(hooks));
  }
  ~PushedHooks() { pop_saved_tensor_hooks(hooks_); }
  PushedHooks(const PushedHooks&) = delete;
  PushedHooks& operator=(const PushedHooks&) = delete;

 private:
  const SavedTensorHooks* hooks_;
};

}  // namespace

/// Hands the tensors that the function saves in its second run to the holders of the first.
class CheckpointFrame::SecondRun final : public SavedTensorHooks {
 public:
  SecondRun(const CheckpointFrame& frame, std::uint64_t key)
      : frame_(frame), key_(key), first_run_complete_(frame.complete_) {
    for (std::size_t i = 0; i < frame.holders_.size(); ++i) {
      if (!frame.holders_[i].expired()) wanted_ = i + 1;
    }
  }

  std::any pack(const Tensor& x, const Node& owner) const override {
    const std::size_t i = saved_++;
    if (i < frame_.holders_.size()) {
      if (const auto holder = frame_.holders_[i].lock()) {
        check(i, *holder, x, owner);
        holder->set(key_, x);
      }
    } else if (first_run_complete_ && frame_.options_.check) {
      fail<RuntimeError>("[checkpoint] the function does not do the same when it runs again for backward: its ",
                         owner.name(), " saves ", describe(x), ", and in forward it saved ", frame_.holders_.size(),
                         " tensors and no more");
    }
    // Stops where nothing more is wanted; without early_stop only where the first run has not ended: it asks for what
    // it saved so far, and its repetition must not get to that question again.
    if (i + 1 >= wanted_ && (frame_.options_.early_stop || !first_run_complete_)) throw StopRecomputation{this};
    return x;
  }
  Tensor unpack(const std::any& packed, const Node&) const override { return std::any_cast<const Tensor&>(packed); }

  void check_count() const {
    if (saved_ >= wanted_) return;
    const auto first = std::ranges::find_if(frame_.holders_.begin() + static_cast<std::ptrdiff_t>(saved_),
                                            frame_.holders_.end(), [](const auto& h) { return !h.expired(); });
    const auto holder = first == frame_.holders_.end() ? nullptr : first->lock();
    fail<RuntimeError>(
        "[checkpoint] the function does not do the same when it runs again for backward: it saved ", saved_,
        " tensors, and ", frame_.holders_.size(), " in forward",
        holder ? str("; the first that is missing, number ", first - frame_.holders_.begin(), ", is from ", holder->op)
               : std::string());
  }

 private:
  void check(std::size_t i, const CheckpointHolder& holder, const Tensor& x, const Node& owner) const {
    const TensorMeta& meta = holder.meta;
    const bool same = x.shape() == meta.shape && x.dtype() == meta.dtype && x.device() == meta.device;
    if (!frame_.options_.check || (same && owner.name() == holder.op)) return;
    fail<RuntimeError>("[checkpoint] the function does not do the same when it runs again for backward: saved tensor ",
                       i, " is ", describe(x), " from ", owner.name(), ", and was ", meta.dtype, meta.shape, " on ",
                       meta.device, " from ", holder.op, " in forward");
  }

  const CheckpointFrame& frame_;
  const std::uint64_t key_;
  const bool first_run_complete_;
  /// Number of the holders up to the last one that still lives.
  std::size_t wanted_ = 0;
  mutable std::size_t saved_ = 0;
};

void CheckpointFrame::run_again(std::uint64_t key) {
  // Keeps the frame alive: the last holder, and the frame with it, may go while the function runs.
  const auto keep_alive = shared_from_this();
  const auto hooks = std::make_shared<const SecondRun>(*this, key);
  try {
    const ScopeGuard guard;
    const int traced = modes().interceptors & Modes::kTrace;
    modes() = Modes{.grad_enabled = true, .interceptors = static_cast<std::uint8_t>(traced)};
    // Enters forward's levels, as tensors saved for tangents are saved again, though this is asked for while some
    // levels are hidden, or after they ended.
    const RepeatedLevels levels(dual_levels_);
    thread_state().batch_levels = batch_levels_;
    thread_state().batch_scopes = batch_scopes_;
    thread_state().level_run = level_run(true);
    const std::vector<Tensor> again = unpack_inputs();
    thread_state().selection = nullptr;
    if (kept_) {
      thread_state().selection = std::make_shared<Selection>(kept_, true);
    }
    const WatchReads watch(std::make_shared<ReadWatch>(reads_, true));
    const AutocastScope autocast(autocast_);
    const PushedHooks pushed(hooks);
    std::optional<RandomReplay> replay;
    if (random_) replay.emplace(*random_);
    try {
      recompute_(again);
    } catch (const StopRecomputation& stop) {
      if (stop.run != hooks.get()) throw;
    }
    hooks->check_count();
  } catch (...) {
    drop(key);
    throw;
  }
}

CheckpointScope::CheckpointScope(Recompute recompute, std::span<const Tensor* const> inputs,
                                 const CheckpointOptions& options)
    : interceptors_before_(modes().interceptors) {
  if (!is_grad_enabled()) return;
  check_saved_tensor_hooks_enabled();
  frame_ = std::make_shared<CheckpointFrame>(std::move(recompute), inputs, options);
  hooks_ = std::make_shared<const FirstRun>(frame_);
  selection_before_ = thread_state().selection;
  level_run_before_ = std::exchange(thread_state().level_run, frame_->level_run(false));
  push_saved_tensor_hooks(hooks_);
  if (options.policy) thread_state().selection = std::make_shared<Selection>(frame_->kept(), false);
  reads_.emplace(std::make_shared<ReadWatch>(frame_->reads(), false));
}

CheckpointScope::~CheckpointScope() {
  if (!frame_) return;
  frame_->end_first_run();
  pop_saved_tensor_hooks(hooks_.get());
  reads_.reset();
  thread_state().selection = std::move(selection_before_);
  thread_state().level_run = std::move(level_run_before_);
  modes().interceptors = interceptors_before_;
}

void CheckpointScope::complete() noexcept {
  if (frame_) frame_->set_complete();
}

bool CheckpointReferences::any() noexcept { return live_frames.load(std::memory_order_relaxed) != 0; }

void CheckpointReferences::add(const Packed& packed) {
  const auto* hooks = dynamic_cast<const FirstRun*>(packed.hooks.get());
  if (!hooks) return;
  auto found = std::ranges::find(found_, hooks->frame(), &Found::frame);
  if (found == found_.end()) found = found_.insert(found_.end(), Found{.frame = hooks->frame()});
  ++found->hooks;
  found->hooks_owners = packed.hooks.use_count();
  if (std::any_cast<const std::shared_ptr<CheckpointHolder>&>(packed.value).use_count() == 1) ++found->holders;
}

void CheckpointReferences::for_each_owned(const std::function<void(const CheckpointScope::Recompute&)>& f) {
  // Repeats the search, as the inputs of one checkpoint may be holders of another around it.
  for (bool more = true; more;) {
    more = false;
    for (std::size_t i = 0; i < found_.size(); ++i) {
      Found& found = found_[i];
      // Owners of a frame are its holders, and the hooks that made them.
      if (found.owned || found.hooks != found.hooks_owners || found.frame->owners() != found.holders + 1) continue;
      found.owned = more = true;
      const CheckpointFrame& frame = *found.frame;
      f(frame.recompute());
      for (const CheckpointInput& input : frame.inputs()) {
        const Packed* const packed = input.saved().packed();
        if (packed && packed->use_count() == 1) add(*packed);
      }
    }
  }
}

Tensor checkpoint_sequential(std::span<const std::function<Tensor(const Tensor&)>> functions, std::size_t segments,
                             const Tensor& input, const CheckpointOptions& options) {
  if (segments < 1 || segments > functions.size()) {
    fail<ValueError>("[checkpoint_sequential] segments must be between 1 and the number of functions, ",
                     functions.size(), ", got ", segments);
  }
  const std::size_t length = functions.size() / segments;
  Tensor x = input;
  std::size_t begin = 0;
  for (std::size_t segment = 0; segment + 1 < segments; ++segment, begin += length) {
    const std::vector part(functions.begin() + static_cast<std::ptrdiff_t>(begin),
                           functions.begin() + static_cast<std::ptrdiff_t>(begin + length));
    x = checkpoint(
        options,
        [part](Tensor y) {
          for (const auto& function : part) y = function(y);
          return y;
        },
        x);
  }
  for (; begin < functions.size(); ++begin) x = functions[begin](x);
  return x;
}

}  // namespace lamella::autograd
