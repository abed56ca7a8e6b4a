#pragma once

#include <cstddef>
#include <memory>

#include "engine/core/tensor.h"

// Page-locked memory of the host: a device copies from and to it while the host goes on.

namespace lamella {

class PinnedMemory {
 public:
  PinnedMemory() = default;
  virtual ~PinnedMemory() = default;
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;

  /// Returns at least `bytes` bytes. Throws OutOfMemoryError if there are none, and RuntimeError without a device.
  virtual void* allocate(std::size_t bytes) = 0;
  /// Frees a block once the copies that use it are done.
  virtual void release(void* pointer) noexcept = 0;
  /// True if the address lies in a block that allocate() returned.
  virtual bool holds(const void* pointer) noexcept = 0;
  /// Says that the work that a device's current stream has now uses the block of an address.
  virtual void note_copy(const void* pointer, Device device) = 0;
};

/// Registers the page-locked memory of a runtime, when its library loads.
void register_pinned_memory(std::unique_ptr<PinnedMemory> memory);
/// Returns it, or null in a build without one.
PinnedMemory* pinned_memory() noexcept;

/// True if x lies in page-locked memory.
bool is_pinned(const Tensor& x);
/// Returns an uninitialized tensor of the CPU in page-locked memory. Throws RuntimeError if there is no device that has
/// a use for it.
Tensor empty_pinned(DimsView shape, DType dtype);

/// Copies between page-locked memory and a device return before they are done, on this thread, during its lifetime.
class NonBlockingCopies {
 public:
  explicit NonBlockingCopies(bool on = true) noexcept;
  ~NonBlockingCopies();
  NonBlockingCopies(const NonBlockingCopies&) = delete;
  NonBlockingCopies& operator=(const NonBlockingCopies&) = delete;

  static bool on() noexcept;

 private:
  bool before_;
};

}  // namespace lamella
