#include "engine/autograd/checkpoint/selection.h"

#include <algorithm>
#include <utility>

#include "engine/autograd/graph/meta.h"
#include "engine/autograd/graph/place.h"
#include "engine/autograd/saved/saved_tensor_hooks.h"
#include "engine/autograd/tangents/duals.h"
#include "engine/core/access_watch.h"
#include "engine/core/error.h"
#include "engine/core/modes.h"
#include "engine/core/thread_state.h"

namespace lamella::autograd {
namespace {

/// Node of kept results when the function runs again. The graph made then is not for gradients: this node only makes
/// the results want one.
class KeptCallNode final : public Node {
 public:
  explicit KeptCallNode(std::string op) : op_(std::move(op)) {}
  std::string name() const override { return op_; }
  TensorList run(TensorList) override {
    fail<RuntimeError>("[checkpoint] the function computes gradients itself, through a call of ", op_,
                       " that its policy keeps and that is not made again; let the policy keep no such call");
  }

 private:
  std::string op_;
};

/// True if nobody wrote to the call's results, and to other tensors that it saved, since it was made; otherwise it has
/// to be computed again.
bool is_intact(const KeptCalls::Call& call) {
  return std::ranges::none_of(call.results, [](const auto& result) { return result.tensor.is_overwritten(); }) &&
         std::ranges::none_of(call.saves, [](const auto& save) { return save.tensor.is_overwritten(); });
}

void set_mode(bool on) noexcept {
  auto& bits = modes().interceptors;
  bits = static_cast<std::uint8_t>(on ? bits | Modes::kSelective : bits & ~Modes::kSelective);
}

}  // namespace

void Selection::note_packed(const Tensor& x) {
  if (running_ && running_->is_keeping()) running_->note_packed(x);
}

void note_packed(const Tensor& x) {
  if (Selection* const selection = thread_state().selection.get()) selection->note_packed(x);
}

SelectedCall::SelectedCall(std::string op, std::span<const Tensor* const> inputs)
    : selection_(thread_state().selection) {
  for (const Tensor* x : inputs) inputs_.push_back(*x);
  // A call that is not made again reads only those of its inputs that it saved.
  std::vector<bool> reads(inputs.size(), true);
  if (selection_ && selection_->repeats_) {
    const KeptCalls& kept = *selection_->kept_;
    if (selection_->next_ < kept.calls.size()) {
      at_ = selection_->next_++;
      if (call().op == op) {
        replayed_ = call().kept && is_intact(call());
      } else if (kept.check) {
        fail<RuntimeError>("[checkpoint] the function does not do the same when it runs again for backward: its call ",
                           at_, " is ", op, ", and was ", call().op, " in forward");
      }
    } else if (kept.check && kept.complete) {
      fail<RuntimeError>(
          "[checkpoint] the function does not do the same when it runs again for backward: it goes on "
          "with a call of ",
          op, ", and made ", kept.calls.size(), " calls in forward");
    }
    if (replayed_) {
      reads.assign(inputs.size(), false);
      for (const KeptCalls::Save& save : call().saves) {
        if (save.input >= 0) reads[static_cast<std::size_t>(save.input)] = true;
      }
    }
  } else if (selection_) {
    KeptCalls& kept = *selection_->kept_;
    set_mode(false);
    bool keep = false;
    try {
      const NoSavedTensorHooks no_hooks;
      const NoGrad no_grad;
      keep = kept.policy(op, inputs);
    } catch (...) {
      set_mode(true);
      throw;
    }
    set_mode(true);
    at_ = kept.calls.size();
    kept.calls.emplace_back().op = op;
    keeping_ = keep;
    if (keep && kept.preserve_rng_state) random_before_ = RandomState::now();
  }
  if (const auto& watch = thread_state().access_watch) watch->begin_call(op, inputs, reads);
  for (const Tensor& x : inputs_) versions_.push_back(x.defined() ? x.version() : 0);
  if (!keeping_ && !replayed_) inputs_.clear();  // lets the call do with its inputs what it likes
  if (selection_) outer_ = std::exchange(selection_->running_, this);
  set_mode(false);
}

SelectedCall::~SelectedCall() {
  if (selection_) selection_->running_ = outer_;
  if (const auto& watch = thread_state().access_watch) watch->end_call();
  set_mode(true);
}

void SelectedCall::note_packed(const Tensor& x) {
  KeptCalls::Save save;
  const auto input = std::ranges::find_if(inputs_, [&](const Tensor& y) { return y.same(x); });
  if (input != inputs_.end()) {
    save.input = input - inputs_.begin();
  } else {
    save.tensor = SavedTensor(x.detach());
  }
  call().saves.push_back(std::move(save));
}

void SelectedCall::keep(std::span<const Tensor* const> results, std::any form) {
  keeping_ = false;
  KeptCalls::Call& call = this->call();
  bool keeps = !duals_active() || levels_of(results).empty();
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    keeps = keeps && !(inputs_[i].defined() && inputs_[i].version() != versions_[i]);
  }
  if (!keeps) {
    call.saves.clear();
    return;
  }
  for (const Tensor* x : results) {
    KeptCalls::Result result;
    if (x->defined()) {
      result.tensor = SavedTensor(x->detach());
      result.wants_gradient = autograd::wants_gradient(*x);
    }
    call.results.push_back(std::move(result));
  }
  if (random_before_) {
    const RandomState now = RandomState::now();
    if (now != *random_before_) call.random = now;
  }
  call.form = std::move(form);
  call.kept = true;
}

std::vector<Tensor> SelectedCall::results() {
  KeptCalls& kept = *selection_->kept_;
  const KeptCalls::Call& call = this->call();
  const auto node = Ref<Node>::adopt(new KeptCallNode(call.op));
  for (const Tensor& x : inputs_) node->add_edge(gradient_edge(x));
  node->set_output_count(static_cast<std::uint32_t>(call.results.size()));
  std::vector<Tensor> results;
  for (std::size_t i = 0; i < call.results.size(); ++i) {
    Tensor x = call.results[i].tensor.unpack(*kept.label, i, {});
    if (x.defined()) {
      x = make_alias(x);
      if (call.results[i].wants_gradient) {
        AutogradMeta& meta = make_meta(x);
        meta.grad_fn = node;
        meta.output_nr = static_cast<std::uint32_t>(i);
      }
    }
    results.push_back(std::move(x));
  }
  if (call.random) call.random->restore();
  if (modes().interceptors & Modes::kPacking) {
    for (const KeptCalls::Save& save : call.saves) {
      SavedTensor(save.input >= 0 ? inputs_[static_cast<std::size_t>(save.input)]
                                  : save.tensor.unpack(*kept.label, 0, {}))
          .pack(*node);
    }
  }
  return results;
}

const std::any& SelectedCall::form() const { return call().form; }

}  // namespace lamella::autograd
