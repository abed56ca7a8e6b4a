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

/// Stands for a saved tensor that went through a hook, with everything that the hook cannot know of it.
struct Packed {
  std::shared_ptr<const SavedTensorHooks> hooks;
  /// Result of pack().
  std::any value;
  Dims shape;
  DType dtype = DType::Float32;
  Device device;
  /// Edge along which the gradient of a saved input flows.
  Edge edge;
  /// Tangents of the tensor.
  SmallVector<Tangent, 1> tangents;
  /// True if pack() returned the tensor's own memory: a write in place is detected, as without hooks.
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
