#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "engine/core/device.h"

namespace lamella {

/// Bytes, per device.
struct MemoryStats {
  std::int64_t allocated = 0;       ///< held by live tensors
  std::int64_t peak_allocated = 0;  ///< the largest `allocated` since the last reset
  std::int64_t reserved = 0;        ///< taken from the system: allocated, and kept for reuse
};

/// Memory of one device, with the freed blocks kept for reuse. Thread-safe.
///
/// A block freed by work on one stream is reused by later work on that stream only, so that reuse needs no
/// synchronization.
class CachingAllocator {
 public:
  explicit CachingAllocator(Device device) : device_(device) {}
  virtual ~CachingAllocator() = default;
  CachingAllocator(const CachingAllocator&) = delete;
  CachingAllocator& operator=(const CachingAllocator&) = delete;

  /// At least `bytes` bytes; OutOfMemoryError where the system refuses even after the cache was emptied.
  void* allocate(std::size_t bytes, void* stream = nullptr);
  /// `bytes` and `stream` as given to allocate().
  void deallocate(void* pointer, std::size_t bytes, void* stream = nullptr) noexcept;
  /// Gives all memory that is not in use back to the system.
  void empty_cache() noexcept;
  MemoryStats stats() const;
  void reset_peak();

 protected:
  /// Null where the system has no memory left.
  virtual void* system_allocate(std::size_t bytes) = 0;
  virtual void system_free(void* pointer) noexcept = 0;
  /// Runs before memory goes back to the system: work on it must have ended.
  virtual void synchronize() noexcept {}

 private:
  using Bin = std::pair<std::size_t, void*>;  // rounded size, stream

  void* system_allocate_or_empty(std::size_t bytes);

  Device device_;
  mutable std::mutex mutex_;
  std::map<Bin, std::vector<void*>> free_;
  MemoryStats stats_;
};

/// The allocator of a device; RuntimeError where this build or machine does not have it.
CachingAllocator& allocator(Device device);

/// Called by a device's runtime: `factory(index)` makes the allocator of device `index` on first use.
using AllocatorFactory = CachingAllocator* (*)(Device);
void register_allocator(DeviceType type, AllocatorFactory factory);

/// Statistics of a device, small tensors of the CPU included. Their part of the peak is sampled when a large block is
/// taken.
MemoryStats memory_stats(Device device);

}  // namespace lamella
