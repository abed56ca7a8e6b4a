#pragma once

#include <any>
#include <functional>
#include <memory>
#include <string>

#include "engine/autograd/graph/node.h"
#include "engine/core/modes.h"
#include "engine/core/tensor.h"

namespace lamella::autograd {

/// Pair of hooks through which the tensors pass that operations, built-in ones and users' layers alike, save for their
/// backward: pack() gets each tensor when it is saved, and its result is kept; unpack() gets that result when backward
/// asks, and returns the tensor. Both run with recording off and no hooks in force, on the thread that saves or asks.
/// Several threads may unpack at once.
class SavedTensorHooks {
 public:
  virtual ~SavedTensorHooks() = default;
  /// Packs x when `owner` saves it; must not write into x.
  virtual std::any pack(const Tensor& x, const Node& owner) const = 0;
  /// Returns a tensor of the shape, dtype and device of the one that was packed.
  virtual Tensor unpack(const std::any& packed, const Node& owner) const = 0;
  /// Returns the tensor that a result of pack() is or holds, null where there is none: one with the saved tensor's
  /// memory is watched for writes in place.
  virtual const Tensor* tensor_in(const std::any& packed) const { return std::any_cast<Tensor>(&packed); }
};

/// Functions of a pair of hooks.
using PackFunction = std::function<std::any(const Tensor& x)>;
using UnpackFunction = std::function<Tensor(const std::any& packed)>;

/// Throws RuntimeError with the message of disable_saved_tensors_hooks where that is in force on this thread.
void check_saved_tensor_hooks_enabled();
/// Makes `hooks` this thread's innermost pair, the one that is used; null suspends hooks.
void push_saved_tensor_hooks(std::shared_ptr<const SavedTensorHooks> hooks);
/// Removes the innermost entry that is `hooks`; false where there is none.
bool pop_saved_tensor_hooks(const SavedTensorHooks* hooks) noexcept;

/// Puts a pair of hooks in force for a scope. Scopes nest: the innermost pair is used, alone.
class SavedTensorHooksScope {
 public:
  /// Throws RuntimeError inside DisableSavedTensorHooks.
  explicit SavedTensorHooksScope(std::shared_ptr<const SavedTensorHooks> hooks);
  SavedTensorHooksScope(PackFunction pack, UnpackFunction unpack);
  ~SavedTensorHooksScope() { pop_saved_tensor_hooks(hooks_.get()); }
  SavedTensorHooksScope(const SavedTensorHooksScope&) = delete;
  SavedTensorHooksScope& operator=(const SavedTensorHooksScope&) = delete;

 private:
  std::shared_ptr<const SavedTensorHooks> hooks_;
};

/// Suspends hooks in a scope.
class NoSavedTensorHooks {
 public:
  NoSavedTensorHooks() { push_saved_tensor_hooks(nullptr); }
  ~NoSavedTensorHooks() { pop_saved_tensor_hooks(nullptr); }
  NoSavedTensorHooks(const NoSavedTensorHooks&) = delete;
  NoSavedTensorHooks& operator=(const NoSavedTensorHooks&) = delete;
};

/// Forbids hooks in a scope, for code that they would break: using some throws RuntimeError with `message`.
class DisableSavedTensorHooks {
 public:
  /// Throws RuntimeError with the message where hooks are in force already.
  explicit DisableSavedTensorHooks(std::string message);
  ~DisableSavedTensorHooks();
  DisableSavedTensorHooks(const DisableSavedTensorHooks&) = delete;
  DisableSavedTensorHooks& operator=(const DisableSavedTensorHooks&) = delete;
};

/// Keeps saved tensors in the CPU's memory until backward asks for them. Tensors that are there already stay as they
/// are, without a copy.
class SaveOnCpu : public SavedTensorHooksScope {
 public:
  SaveOnCpu();
};

}  // namespace lamella::autograd
