#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "engine/core/device.h"

namespace lamella {

/// Memory statistics of a device, in bytes.
struct MemoryStats {
  std::int64_t allocated = 0;       ///< held by live tensors
  std::int64_t peak_allocated = 0;  ///< largest `allocated` since the last reset
  std::int64_t reserved = 0;        ///< taken from the system: allocated, plus kept for reuse
};

/// The memory of one device, with a cache of freed blocks. Thread-safe.
///
/// A block freed by work on one stream is reused by later work on that stream only, so that reuse needs no
/// synchronization.
class CachingAllocator {
 public:
  static constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();  ///< for `most_kept`

  /// With `keeps` false freed memory returns to the system at once, and blocks have the size that was asked for: tools
  /// that watch memory see every use of it then. More than `most_kept` bytes are never kept for reuse: memory of sizes
  /// that are no longer asked for returns to the system then, and all of it if that is not enough.
  explicit CachingAllocator(Device device, bool keeps = true, std::int64_t most_kept = kNoLimit)
      : device_(device), keeps_(keeps), most_kept_(most_kept) {}
  virtual ~CachingAllocator() = default;
  CachingAllocator(const CachingAllocator&) = delete;
  CachingAllocator& operator=(const CachingAllocator&) = delete;

  /// Returns at least `bytes` bytes; throws OutOfMemoryError if the system refuses even after the cache was emptied.
  void* allocate(std::size_t bytes, void* stream = nullptr);
  /// Frees a block; `bytes` and `stream` must be those given to allocate().
  void deallocate(void* pointer, std::size_t bytes, void* stream = nullptr) noexcept;
  /// Says that work of `stream` uses a block that was allocated for another stream: once it is freed, its own stream
  /// waits for the work that `stream` has then, so that the block is not overwritten before.
  void record_use(void* pointer, void* stream);
  /// Returns all cached memory to the system, but for that of streams that are held.
  void empty_cache() noexcept;
  /// Keeps the memory of a stream for it, as captured work uses it: see Note [Captured work].
  void hold(void* stream);
  /// Ends one hold; returns true if it was the last one of the stream.
  bool release_hold(void* stream);
  /// False if freed memory returns to the system at once.
  bool keeps() const noexcept { return keeps_; }
  MemoryStats stats() const;
  void reset_peak();

 protected:
  /// Returns memory from the system, or null if it has none left.
  virtual void* system_allocate(std::size_t bytes) = 0;
  virtual void system_free(void* pointer) noexcept = 0;
  /// Waits until work on cached memory has ended; called before it is returned to the system.
  virtual void synchronize() noexcept {}
  /// Has later work of one stream wait for the work that another has now.
  virtual void wait_for(void* waiting, void* working) noexcept {
    static_cast<void>(waiting), static_cast<void>(working);
  }

 private:
  using Bin = std::pair<std::size_t, void*>;  // rounded size, stream
  struct Blocks {
    std::vector<void*> pointers;
    bool is_used = false;  // since most_kept was last exceeded
  };
  using Cache = std::map<Bin, Blocks>;

  /// Takes from the cache what exceeds most_kept; the caller holds the lock.
  Cache take_surplus() noexcept;
  /// Moves bins that may be returned to the system; with `all` also those that are used.
  void take_bins(Cache& taken, bool all) noexcept;
  void return_to_system(const Cache& taken) noexcept;
  void* system_allocate_or_empty(std::size_t bytes);
  /// Lists a block as free; the caller holds the lock.
  void keep(void* pointer, std::size_t size, void* stream) noexcept;
  /// Returns the size of the block that holds `bytes` bytes.
  std::size_t block_size(std::size_t bytes) const;

  Device device_;
  bool keeps_;
  std::int64_t most_kept_;
  mutable std::mutex mutex_;
  Cache free_;
  std::map<void*, std::vector<void*>> uses_;  // blocks and the streams other than their own that use them
  std::map<void*, int> holds_;                // numbers of holds, by stream
  MemoryStats stats_;
};

/// Returns the allocator of a device; throws RuntimeError if this build or machine does not have the device.
CachingAllocator& allocator(Device device);

/// Registers a device's runtime: `factory(device)` makes the allocator of a device on first use.
using AllocatorFactory = CachingAllocator* (*)(Device);
void register_allocator(DeviceType type, AllocatorFactory factory);

/// Returns the statistics of a device, including small tensors on the CPU; their part of the peak is sampled when a
/// large block is allocated.
MemoryStats memory_stats(Device device);

}  // namespace lamella
