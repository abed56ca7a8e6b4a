#pragma once

#include <any>
#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "engine/autograd/graph/node.h"
#include "engine/autograd/graph/spin_lock.h"
#include "engine/autograd/saved/saved_tensor.h"
#include "engine/core/host.h"
#include "engine/core/modes.h"
#include "engine/core/tensor.h"
#include "engine/core/tensor_meta.h"

namespace lamella {

/// How one argument of a layer's call is made up: a tensor, a container of tensors, or neither.
struct ArgumentInfo {
  /// The argument is a tensor or holds some (an empty list of tensors counts as none).
  bool has_tensors = false;
  /// A list, tuple, dict, optional or struct: its gradient has the same form.
  bool container = false;
  /// Its tensors among all tensors of the call, in order.
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

/// What a layer's forward leaves for its backward: saved tensors, the user's own data, and marks on inputs and outputs.
///
/// One is made per call. Where nothing is recorded, saving is accepted and forgotten.
class Context {
 public:
  explicit Context(Node* node = nullptr) noexcept : node_(node) {}
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  /// Keeps tensors for backward, which reads them with saved_tensors(). Once, and only in forward: RuntimeError
  /// otherwise.
  template <class... Tensors>
    requires(std::is_convertible_v<const Tensors&, const Tensor&> && ...)
  void save_for_backward(const Tensors&... tensors) {
    begin_save();
    if (node_) (saved_.emplace_back(static_cast<const Tensor&>(tensors)), ...);
  }
  void save_for_backward(std::span<const Tensor> tensors) {
    begin_save();
    if (!node_) return;
    for (const Tensor& x : tensors) saved_.emplace_back(x);
  }

  /// What was saved, in order. RuntimeError where the graph was freed, or where a tensor was overwritten since.
  TensorList saved_tensors() const;
  /// The same, as an array: `auto [x, y] = ctx.saved_tensors<2>();`. RuntimeError where another number was saved.
  template <std::size_t N>
  std::array<Tensor, N> saved_tensors() const {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      if (unpacking_is_work()) [[unlikely]] {
        TensorList tensors = unpack_saved(N);
        return std::array<Tensor, N>{std::move(tensors[I])...};
      }
      const std::lock_guard lock(lock_);
      check_saved(N);
      return std::array<Tensor, N>{saved_[I].unpack(*node_, I, created_at)...};
    }(std::make_index_sequence<N>{});
  }
  /// saved_tensors() under Paddle's name.
  TensorList saved_tensor() const { return saved_tensors(); }

  /// Data of the user's own under a name, from forward to backward.
  std::map<std::string, std::any>& saved_data() { return extras().data; }

  /// A small value of the layer's own type, made on first use: a cheaper saved_data() for layers written in C++.
  template <class T>
  T& state() {
    if (!state_) state_ = std::shared_ptr<void>(new T(), [](void* p) { delete static_cast<T*>(p); });
    return *static_cast<T*>(state_.get());
  }

  /// Whether the current pass wants the gradient of argument `i`; in forward, whether the argument wants one.
  bool needs_input_grad(std::size_t i) const;

  /// Declares that forward wrote into these inputs in place and returns them.
  template <class... Tensors>
  void mark_dirty(const Tensors&... tensors) {
    (extras().dirty.push_back(static_cast<const Tensor&>(tensors)), ...);
  }
  /// Declares that these inputs, returned as outputs, become new tensors on the same memory (here the default).
  template <class... Tensors>
  void mark_not_inplace(const Tensors&... tensors) {
    (extras().not_inplace.push_back(static_cast<const Tensor&>(tensors)), ...);
  }
  /// Declares that these outputs have no gradient.
  template <class... Tensors>
  void mark_non_differentiable(const Tensors&... tensors) {
    (extras().non_differentiable.push_back(static_cast<const Tensor&>(tensors)), ...);
  }
  /// False: an output that got no gradient gives an undefined tensor to backward, instead of zeros.
  void set_materialize_grads(bool value) noexcept { materialize_grads_ = value; }
  /// False: an incoming gradient is not cast to its output's dtype.
  void set_grad_in_dtype_consistent(bool value) noexcept { grad_in_dtype_consistent_ = value; }

  // What follows is for the fronts (Function<T>, PyLayer), not for layers.

  struct Extras {
    TensorList dirty;
    TensorList not_inplace;
    TensorList non_differentiable;
    /// The levels of forward mode at which an input had a tangent.
    SmallVector<std::uint64_t, 2> dual_levels;
    std::map<std::string, std::any> data;
  };

  Node* node() const noexcept { return node_; }
  bool recording() const noexcept { return node_ != nullptr; }
  Extras& extras() {
    if (!extras_) extras_ = std::make_unique<Extras>();
    return *extras_;
  }
  const Extras* peek_extras() const noexcept { return extras_.get(); }
  /// True if an input had a tangent at a level of forward mode that is looked at now.
  bool was_called_dual() const noexcept;
  /// Forgets what the mark_...() functions were told; data stays.
  void drop_marks() noexcept;
  SmallVector<autograd::SavedTensor, 2>& saved() noexcept { return saved_; }
  /// The saved tensors as they are kept, to look at: no check, nothing once they were freed. Undefined ones stand for
  /// what was saved so, and for what is not kept as a tensor.
  TensorList kept_tensors() const;
  bool materialize_grads() const noexcept { return materialize_grads_; }
  bool grad_in_dtype_consistent() const noexcept { return grad_in_dtype_consistent_; }
  /// Forward has ended: saving is an error from now on.
  void end_forward() noexcept { in_forward_ = false; }
  bool freed() const noexcept { return freed_; }
  /// Hands what was saved to the innermost pair of hooks; see saved_tensor_hooks.h.
  void pack_saved();
  /// Calls f with each of what was saved, for the host's collector; f must not come back here.
  template <class F>
  void for_each_saved(F&& f) const {
    const std::lock_guard lock(lock_);
    for (const autograd::SavedTensor& saved : saved_) f(saved);
  }
  /// Drops the saved tensors; saved_tensors() then says that the graph was freed.
  void release_saved() noexcept;

  /// Arguments of the call, with their tensors; empty for layers that do without checks.
  SmallVector<ArgumentInfo, 2> arguments;
  SmallVector<TensorMeta, 1> input_metas;
  SmallVector<TensorMeta, 1> output_metas;
  /// The line that called the layer.
  SourceLine created_at;
  /// Static data of a layer that stands for many (an elementwise op's description).
  const void* tag = nullptr;

 private:
  void begin_save();
  void check_saved(std::size_t expected) const;
  /// Whether unpacking may call functions of the users', make nodes or call operators: what does not belong under the
  /// lock.
  bool unpacking_is_work() const noexcept { return packed_ || autograd::is_grad_enabled(); }
  /// saved_tensors() of which there are to be `expected`, not under the lock.
  TensorList unpack_saved(std::optional<std::size_t> expected) const;

  Node* node_;
  SmallVector<autograd::SavedTensor, 2> saved_;
  // Passes on other threads may read what this one frees.
  mutable autograd::SpinLock lock_;
  std::unique_ptr<Extras> extras_;
  std::shared_ptr<void> state_;
  bool materialize_grads_ = true;
  bool grad_in_dtype_consistent_ = true;
  bool in_forward_ = true;
  bool save_called_ = false;
  bool freed_ = false;
  /// Hooks were in force when forward ended.
  bool packed_ = false;
};

}  // namespace lamella
