#include "engine/autograd/saved/saved_tensor_hooks.h"

#include <algorithm>
#include <utility>

#include "engine/autograd/graph/primitives.h"
#include "engine/core/error.h"
#include "engine/core/thread_state.h"

namespace lamella::autograd {
namespace {

/// Updates the bit that tells saving whether hooks are in force.
void update_mode() noexcept {
  const auto& hooks = thread_state().saved_tensor_hooks;
  const auto others = static_cast<std::uint8_t>(modes().interceptors & ~Modes::kPacking);
  const bool packing = !hooks.empty() && hooks.back();
  modes().interceptors = packing ? static_cast<std::uint8_t>(others | Modes::kPacking) : others;
}

class FunctionHooks final : public SavedTensorHooks {
 public:
  FunctionHooks(PackFunction pack, UnpackFunction unpack) : pack_(std::move(pack)), unpack_(std::move(unpack)) {
    if (!pack_ || !unpack_) fail<ValueError>("[SavedTensorHooksScope] pack and unpack must both be functions");
  }
  std::any pack(const Tensor& x, const Node&) const override { return pack_(x); }
  Tensor unpack(const std::any& packed, const Node&) const override { return unpack_(packed); }

 private:
  PackFunction pack_;
  UnpackFunction unpack_;
};

struct Moved {
  Tensor x;
  Device device;
};

class ToCpu final : public SavedTensorHooks {
 public:
  std::any pack(const Tensor& x, const Node&) const override {
    return Moved{primitives().to_device(x, kCPU), x.device()};
  }
  Tensor unpack(const std::any& packed, const Node&) const override {
    const auto& moved = std::any_cast<const Moved&>(packed);
    return primitives().to_device(moved.x, moved.device);
  }
  const Tensor* tensor_in(const std::any& packed) const override { return &std::any_cast<const Moved&>(packed).x; }
};

}  // namespace

void check_saved_tensor_hooks_enabled() {
  const auto& messages = thread_state().saved_tensor_hooks_disabled;
  if (!messages.empty()) throw RuntimeError(messages.back());
}

void push_saved_tensor_hooks(std::shared_ptr<const SavedTensorHooks> hooks) {
  thread_state().saved_tensor_hooks.push_back(std::move(hooks));
  update_mode();
}

bool pop_saved_tensor_hooks(const SavedTensorHooks* hooks) noexcept {
  auto& stack = thread_state().saved_tensor_hooks;
  const auto last = std::find_if(stack.rbegin(), stack.rend(), [&](const auto& entry) { return entry.get() == hooks; });
  if (last == stack.rend()) return false;
  const std::shared_ptr<const SavedTensorHooks> dropped = std::move(*last);  // its end may run the user's code
  stack.erase(std::next(last).base());
  update_mode();
  return true;
}

SavedTensorHooksScope::SavedTensorHooksScope(std::shared_ptr<const SavedTensorHooks> hooks) : hooks_(std::move(hooks)) {
  check_saved_tensor_hooks_enabled();
  push_saved_tensor_hooks(hooks_);
}

SavedTensorHooksScope::SavedTensorHooksScope(PackFunction pack, UnpackFunction unpack)
    : SavedTensorHooksScope(std::make_shared<const FunctionHooks>(std::move(pack), std::move(unpack))) {}

DisableSavedTensorHooks::DisableSavedTensorHooks(std::string message) {
  if (modes().interceptors & Modes::kPacking) throw RuntimeError(message);
  thread_state().saved_tensor_hooks_disabled.push_back(std::move(message));
}

DisableSavedTensorHooks::~DisableSavedTensorHooks() { thread_state().saved_tensor_hooks_disabled.pop_back(); }

SaveOnCpu::SaveOnCpu() : SavedTensorHooksScope(std::make_shared<const ToCpu>()) {}

}  // namespace lamella::autograd
