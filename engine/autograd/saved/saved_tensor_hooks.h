#pragma once

#include <any>
#include <functional>
#include <memory>
#include <string>

#include "engine/autograd/graph/node.h"
#include "engine/core/modes.h"
#include "engine/core/tensor.h"

namespace lamella::autograd {

/// What becomes of the tensors that operations save for their backward, built-in ones and users' layers alike: pack()
/// gets each when it is saved, and what it returns is kept; unpack() gets that back when backward asks, and returns
/// the tensor. Both run with recording off and no hooks in force, on the thread that saves or asks. One thread may
/// unpack while another does.
class SavedTensorHooks {
 public:
  virtual ~SavedTensorHooks() = default;
  /// Called when `owner` saves x. It must not write into x.
  virtual std::any pack(const Tensor& x, const Node& owner) const = 0;
  /// A tensor of the shape, dtype and device of the one that was packed.
  virtual Tensor unpack(const std::any& packed, const Node& owner) const = 0;
  /// The tensor that a value of pack() is, null where it is none: one with the saved tensor's memory is watched for
  /// writes in place.
  virtual const Tensor* tensor_in(const std::any& packed) const { return std::any_cast<Tensor>(&packed); }
};

/// The functions of a pair of hooks.
using PackFunction = std::function<std::any(const Tensor& x)>;
using UnpackFunction = std::function<Tensor(const std::any& packed)>;

/// RuntimeError with the message of disable_saved_tensors_hooks where that is in force on this thread.
void check_saved_tensor_hooks_enabled();
/// Makes `hooks` this thread's innermost pair, the one that is used; null suspends those in force.
void push_saved_tensor_hooks(std::shared_ptr<const SavedTensorHooks> hooks);
/// Takes away the innermost entry that is `hooks`; false where there is none.
bool pop_saved_tensor_hooks(const SavedTensorHooks* hooks) noexcept;

/// A pair of hooks for a scope. Scopes nest: the innermost pair is used, alone.
class SavedTensorHooksScope {
 public:
  /// RuntimeError inside DisableSavedTensorHooks.
  explicit SavedTensorHooksScope(std::shared_ptr<const SavedTensorHooks> hooks);
  SavedTensorHooksScope(PackFunction pack, UnpackFunction unpack);
  ~SavedTensorHooksScope() { pop_saved_tensor_hooks(hooks_.get()); }
  SavedTensorHooksScope(const SavedTensorHooksScope&) = delete;
  SavedTensorHooksScope& operator=(const SavedTensorHooksScope&) = delete;

 private:
  std::shared_ptr<const SavedTensorHooks> hooks_;
};

/// No hooks are in force in this scope.
class NoSavedTensorHooks {
 public:
  NoSavedTensorHooks() { push_saved_tensor_hooks(nullptr); }
  ~NoSavedTensorHooks() { pop_saved_tensor_hooks(nullptr); }
  NoSavedTensorHooks(const NoSavedTensorHooks&) = delete;
  NoSavedTensorHooks& operator=(const NoSavedTensorHooks&) = delete;
};

/// In this scope, using hooks is a RuntimeError with `message`: for code that they would break.
class DisableSavedTensorHooks {
 public:
  /// RuntimeError with the message where hooks are in force already.
  explicit DisableSavedTensorHooks(std::string message);
  ~DisableSavedTensorHooks();
  DisableSavedTensorHooks(const DisableSavedTensorHooks&) = delete;
  DisableSavedTensorHooks& operator=(const DisableSavedTensorHooks&) = delete;
};

/// Keeps saved tensors in the CPU's memory until backward asks for them. Those that are there already stay as they
/// are, without a copy.
class SaveOnCpu : public SavedTensorHooksScope {
 public:
  SaveOnCpu();
};

}  // namespace lamella::autograd
