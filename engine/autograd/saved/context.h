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

/// Form of one argument of a layer's call: a tensor, a container of tensors, or neither.
struct ArgumentInfo {
  /// True if the argument is a tensor or holds some (an empty list of tensors counts as none).
  bool has_tensors = false;
  /// True for a list, tuple, dict, optional or struct: its gradient has the same form.
  bool container = false;
  /// Position of the argument's first tensor among all tensors of the call, and number of its tensors.
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

/// Carries data from a layer's forward to its backward: saved tensors, the user's own data, and marks on inputs and
/// outputs.
///
/// Made anew for each call. Where nothing is recorded, saving is accepted and forgotten.
class Context {
 public:
  explicit Context(Node* node = nullptr) noexcept : node_(node) {}
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  /// Keeps tensors for backward, which reads them with saved_tensors(). RuntimeError for a second call, and outside of
  /// forward.
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

  /// Returns the saved tensors, in order. RuntimeError where the graph was freed, or where a tensor was overwritten
  /// since.
  TensorList saved_tensors() const;
  /// Returns the saved tensors as an array: `auto [x, y] = ctx.saved_tensors<2>();`. RuntimeError also where another
  /// number was saved.
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
  /// Calls saved_tensors(), under Paddle's name.
  TensorList saved_tensor() const { return saved_tensors(); }

  /// Returns the user's own data by name, kept from forward to backward.
  std::map<std::string, std::any>& saved_data() { return extras().data; }

  /// Returns a small value of the layer's own type, made on first use: a cheaper saved_data() for layers written in
  /// C++.
  template <class T>
  T& state() {
    if (!state_) state_ = std::shared_ptr<void>(new T(), [](void* p) { delete static_cast<T*>(p); });
    return *static_cast<T*>(state_.get());
  }

  /// True if the current pass wants the gradient of argument `i`; in forward, true if the argument wants one.
  /// IndexError where there is no such argument.
  bool needs_input_grad(std::size_t i) const;

  /// Declares that forward wrote into these inputs in place and returns them.
  template <class... Tensors>
  void mark_dirty(const Tensors&... tensors) {
    (extras().dirty.push_back(static_cast<const Tensor&>(tensors)), ...);
  }
  /// Declares that these inputs, returned as outputs, become new tensors on the same memory (the default here).
  template <class... Tensors>
  void mark_not_inplace(const Tensors&... tensors) {
    (extras().not_inplace.push_back(static_cast<const Tensor&>(tensors)), ...);
  }
  /// Declares that these outputs have no gradient.
  template <class... Tensors>
  void mark_non_differentiable(const Tensors&... tensors) {
    (extras().non_differentiable.push_back(static_cast<const Tensor&>(tensors)), ...);
  }
  /// Sets whether an output that got no gradient gives zeros to backward (the default), or an undefined tensor.
  void set_materialize_grads(bool value) noexcept { materialize_grads_ = value; }
  /// Sets whether an incoming gradient is cast to its output's dtype, the default.
  void set_grad_in_dtype_consistent(bool value) noexcept { grad_in_dtype_consistent_ = value; }

  // Members for the fronts (Function<T>, PyLayer), not for layers.

  struct Extras {
    TensorList dirty;
    TensorList not_inplace;
    TensorList non_differentiable;
    /// Levels of forward mode at which an input had a tangent.
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
  /// True if an input had a tangent at a level of forward mode that is not hidden now.
  bool was_called_dual() const noexcept;
  /// Drops the marks of the mark_...() functions; data stays.
  void drop_marks() noexcept;
  SmallVector<autograd::SavedTensor, 2>& saved() noexcept { return saved_; }
  /// Returns the saved tensors as they are kept, to look at: without checks, and empty once they were freed. Undefined
  /// tensors stand for those that were saved undefined, and for values that are not kept as tensors.
  TensorList kept_tensors() const;
  bool materialize_grads() const noexcept { return materialize_grads_; }
  bool grad_in_dtype_consistent() const noexcept { return grad_in_dtype_consistent_; }
  /// Notes that forward has ended: saving is an error from now on.
  void end_forward() noexcept { in_forward_ = false; }
  bool freed() const noexcept { return freed_; }
  /// Hands the saved tensors to the innermost pair of hooks; see saved_tensor_hooks.h.
  void pack_saved();
  /// Calls f with each saved tensor, for the host's collector; f must not come back here.
  template <class F>
  void for_each_saved(F&& f) const {
    const std::lock_guard lock(lock_);
    for (const autograd::SavedTensor& saved : saved_) f(saved);
  }
  /// Drops the saved tensors; saved_tensors() then reports that the graph was freed.
  void release_saved() noexcept;

  /// Arguments of the call, with their tensors; empty for layers that do without checks.
  SmallVector<ArgumentInfo, 2> arguments;
  SmallVector<TensorMeta, 1> input_metas;
  SmallVector<TensorMeta, 1> output_metas;
  /// Line of the user's code that called the layer.
  SourceLine created_at;
  /// Static data of a layer that stands for many (an elementwise op's description).
  const void* tag = nullptr;

 private:
  void begin_save();
  void check_saved(std::size_t expected) const;
  /// True if unpacking may call functions of the user's, make nodes or call operators, which must not happen under the
  /// lock.
  bool unpacking_is_work() const noexcept { return packed_ || autograd::is_grad_enabled(); }
  /// Returns the saved tensors, unpacked outside of the lock. RuntimeError where their number is not `expected`, if
  /// that is given.
  TensorList unpack_saved(std::optional<std::size_t> expected) const;

  Node* node_;
  SmallVector<autograd::SavedTensor, 2> saved_;
  // Guards saved_ and freed_, as passes on other threads may read what this one frees.
  mutable autograd::SpinLock lock_;
  std::unique_ptr<Extras> extras_;
  std::shared_ptr<void> state_;
  bool materialize_grads_ = true;
  bool grad_in_dtype_consistent_ = true;
  bool in_forward_ = true;
  bool save_called_ = false;
  bool freed_ = false;
  /// True if the saved tensors went through hooks when forward ended.
  bool packed_ = false;
};

}  // namespace lamella
