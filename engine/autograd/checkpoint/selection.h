#pragma once

#include <any>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "engine/autograd/graph/node.h"
#include "engine/autograd/saved/saved_tensor.h"
#include "engine/core/tensor.h"
#include "engine/core/tensors_in.h"
#include "engine/runtime/generator.h"

// Note [Selective checkpoints]
// A checkpoint with a policy asks it, in forward, about every call of an operator or a layer that the function makes
// (calls made by a layer's own forward belong to the layer). A call that is to be kept leaves its results here, and the
// tensors beside its inputs that it saved for backward. When the function runs again, calls come in the same order: one
// that was kept is not computed (unless somebody wrote to its results since), its results are handed out, and the
// tensors that it saved go to the checkpoint's hooks as if they had just been saved. So the hooks see the same sequence
// as in forward.

namespace lamella::autograd {

/// Returns true if the results of a call of `op` with these tensors are to be kept for backward, rather than computed
/// again.
using CheckpointPolicy = std::function<bool(std::string_view op, std::span<const Tensor* const> inputs)>;

/// Calls that a checkpoint's function made, in order, with the results that are kept.
struct KeptCalls {
  /// Tensor that a call saved for backward.
  struct Save {
    /// Number of the call's input that it is; -1 for another tensor, kept here.
    std::ptrdiff_t input = -1;
    SavedTensor tensor;
  };
  struct Result {
    SavedTensor tensor;
    bool wants_gradient = false;
  };
  struct Call {
    std::string op;
    bool kept = false;
    std::vector<Result> results;
    /// Result of the call without its tensors: a value of its C++ type, or an object of the host language.
    std::any form;
    std::vector<Save> saves;
    /// State of the random generators after the call, if it drew numbers.
    std::optional<RandomState> random;
  };

  CheckpointPolicy policy;
  bool preserve_rng_state = true;
  /// True if calls are compared with forward's.
  bool check = true;
  /// Stands for the checkpoint in messages.
  Ref<Node> label;
  std::vector<Call> calls;
  /// True if the function came to its end in forward.
  bool complete = false;
};

class SelectedCall;

/// One run of a checkpoint's function, forward or its repetition.
class Selection {
 public:
  Selection(std::shared_ptr<KeptCalls> kept, bool repeats) : kept_(std::move(kept)), repeats_(repeats) {}

  /// Notes a tensor that is about to be packed, where the call that saves it is to be kept.
  void note_packed(const Tensor& x);

 private:
  friend class SelectedCall;

  std::shared_ptr<KeptCalls> kept_;
  bool repeats_;
  std::size_t next_ = 0;
  SelectedCall* running_ = nullptr;
};

/// Tells this thread's selection, where there is one, that x is about to be packed. To be called under Modes::kPacking.
void note_packed(const Tensor& x);

/// Call of an operator or a layer under Modes::kSelective, from before its computation to after it. The mode is off
/// while it lasts, as calls made by the call belong to it.
class SelectedCall {
 public:
  /// Asks the policy, or looks up the call that forward made here. RuntimeError where forward called another operator
  /// here.
  SelectedCall(std::string op, std::span<const Tensor* const> inputs);
  ~SelectedCall();
  SelectedCall(const SelectedCall&) = delete;
  SelectedCall& operator=(const SelectedCall&) = delete;

  /// True if the results are there, so that the call is not to be computed.
  bool is_replayed() const noexcept { return replayed_; }
  /// Returns the kept results, and hands what the call saved to the hooks as if it had been made. form() returns the
  /// results' form (see KeptCalls::Call).
  std::vector<Tensor> results();
  const std::any& form() const;
  /// True if keep() is to be called.
  bool is_keeping() const noexcept { return keeping_; }
  /// Keeps the results of the call, unless it wrote into one of its inputs or its results have tangents: then it has to
  /// be made again.
  void keep(std::span<const Tensor* const> results, std::any form = {});

 private:
  friend class Selection;

  KeptCalls::Call& call() const { return selection_->kept_->calls[at_]; }
  void note_packed(const Tensor& x);

  std::shared_ptr<Selection> selection_;
  std::vector<Tensor> inputs_;
  std::vector<std::uint32_t> versions_;
  std::optional<RandomState> random_before_;
  std::size_t at_ = 0;
  bool replayed_ = false;
  bool keeping_ = false;
  SelectedCall* outer_ = nullptr;
};

/// Makes a call under Modes::kSelective: `compute` runs unless its results were kept.
template <class Result, class Compute>
  requires std::is_copy_constructible_v<Result>
Result select_call(std::string op, std::span<const Tensor* const> inputs, Compute&& compute) {
  SelectedCall selected(std::move(op), inputs);
  if (selected.is_replayed()) {
    std::vector<Tensor> tensors = selected.results();
    Result result = std::any_cast<const Result&>(selected.form());
    std::size_t next = 0;
    for_each_tensor(result, [&](Tensor& x) { x = std::move(tensors[next++]); });
    return result;
  }
  Result result = compute();
  if (selected.is_keeping()) {
    std::vector<const Tensor*> tensors;
    for_each_tensor(result, [&](const Tensor& x) { tensors.push_back(&x); });
    Result form = result;
    for_each_tensor(form, [](Tensor& x) { x = Tensor(); });
    selected.keep(tensors, std::move(form));
  }
  return result;
}

}  // namespace lamella::autograd
