#pragma once

#include <any>
#include <atomic>
#include <cstdint>
#include <memory>

#include "engine/autograd/graph/meta.h"
#include "engine/autograd/graph/node.h"
#include "engine/core/shape.h"

namespace lamella::autograd {

class SavedTensorHooks;

/// What stands for a saved tensor that went through a hook, and what the hook cannot know of it.
struct Packed {
  std::shared_ptr<const SavedTensorHooks> hooks;
  /// What pack() returned.
  std::any value;
  Dims shape;
  DType dtype = DType::Float32;
  Device device;
  /// Where the gradient of a saved input goes.
  Edge edge;
  /// Its derivatives in forward mode.
  SmallVector<Tangent, 1> tangents;
  /// pack() returned the tensor's own memory: a write in place is found out, as without hooks.
  bool same_memory = false;
  std::uint32_t version = 0;

  void retain() noexcept { refs_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept {
    if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }
  std::uint32_t use_count() const noexcept { return refs_.load(std::memory_order_acquire); }

 private:
  std::atomic<std::uint32_t> refs_{1};
};

}  // namespace lamella::autograd
