#pragma once

// Scopes that change what operators do on this thread.

#include <optional>

#include "engine/core/modes.h"
#include "engine/registry/key.h"

namespace c10 {
using lamella::DispatchKey;
using lamella::DispatchKeySet;
namespace impl {
/// Makes calls in its scope skip kernels for these keys.
class ExcludeDispatchKeyGuard {
 public:
  explicit ExcludeDispatchKeyGuard(DispatchKey key) : scope_(key) {}
  explicit ExcludeDispatchKeyGuard(DispatchKeySet keys) : scope_(keys) {}

 private:
  lamella::ExcludeDispatchKeys scope_;
};
}  // namespace impl

using AutoGradMode = lamella::autograd::GradMode;
using InferenceMode = lamella::autograd::InferenceMode;
}  // namespace c10

namespace at {
/// Make calls in their scope run below autograd; PyTorch's names for it, of several ages.
using AutoDispatchBelowAutograd = lamella::AutoDispatchBelowAutograd;
using AutoDispatchBelowADInplaceOrView = lamella::AutoDispatchBelowAutograd;
class AutoNonVariableTypeMode {
 public:
  explicit AutoNonVariableTypeMode(bool enabled = true) {
    if (enabled) scope_.emplace();
  }

 private:
  std::optional<lamella::AutoDispatchBelowAutograd> scope_;
};
using NoGradGuard = lamella::autograd::NoGrad;
using AutoGradMode = c10::AutoGradMode;
using InferenceMode = c10::InferenceMode;
struct GradMode {
  static bool is_enabled() { return lamella::autograd::is_grad_enabled(); }
  static void set_enabled(bool enabled) { lamella::autograd::set_grad_enabled(enabled); }
};
}  // namespace at
