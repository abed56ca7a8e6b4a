#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "engine/core/device.h"
#include "engine/core/dtype.h"
#include "engine/core/hidden_axes.h"
#include "engine/core/shape.h"
#include "engine/core/storage.h"

namespace lamella {

namespace autograd {
struct AutogradMeta;
}

/// The object behind a Tensor. Internal to the engine; users hold a Tensor.
class TensorImpl {
 public:
  enum Flag : std::uint8_t {
    /// Shares the storage of another tensor object.
    kView = 1,
    /// Computed from tensors that require a gradient while a custom layer's forward suspended recording. See Note
    /// [Intermediates].
    kDerived = 2,
    /// A view with `base` set: it follows the history of the tensor whose memory it shows. See Note [Views].
    kTracked = 4,
    /// Created in inference_mode: takes part in no recorded operation.
    kInference = 8,
    /// Created by detach(), or a view of such a tensor.
    kDetached = 16,
  };

  char* data = nullptr;
  Storage* storage = nullptr;
  std::int64_t elements = 0;
  DType dtype = DType::Float32;
  Device device;
  std::uint8_t flags = 0;
  bool contiguous = true;
  /// True if the tensor can be found by its storage: see listed.h.
  std::atomic<bool> listed{false};
  Dims shape;
  Dims strides;
  /// The tensor that this one is a tracked view of, never a tracked view itself; a reference is owned.
  TensorImpl* base = nullptr;
  /// The axes that vmap hides; null for all other tensors.
  std::unique_ptr<HiddenAxes> hidden;
  /// Null unless the tensor is, or was, on a tape.
  std::atomic<autograd::AutogradMeta*> meta{nullptr};
  /// The host language's object for this tensor, which owns a reference to it. Not owned.
  std::atomic<void*> host_object{nullptr};
  /// The storage's history when this view's gradient node was looked up.
  std::atomic<std::uint32_t> history{0};

  void retain() noexcept { refs_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept {
    if (refs_.load(std::memory_order_acquire) == 1 || refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) destroy();
  }
  std::uint32_t use_count() const noexcept { return refs_.load(std::memory_order_acquire); }

 private:
  /// Defined in engine/autograd/recording/tensor_members.cc, which knows AutogradMeta.
  void destroy() noexcept;

  std::atomic<std::uint32_t> refs_{1};
};

}  // namespace lamella
