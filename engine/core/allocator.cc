#include "engine/core/allocator.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <new>

#include "engine/core/error.h"
#include "engine/core/small_blocks.h"
#include "engine/core/spare_memory.h"

namespace lamella {
namespace {

/// Rounds sizes to an eighth of a power of two: wastes at most 12.5 %, and similar sizes share a bin.
std::size_t round_size(std::size_t bytes) {
  if (bytes <= 512) return 512;
  const std::size_t step = std::max<std::size_t>(std::bit_floor(bytes) / 8, 512);
  return (bytes + step - 1) / step * step;
}

class CpuAllocator final : public CachingAllocator {
 public:
  CpuAllocator() : CachingAllocator(kCPU) {}

 protected:
  void* system_allocate(std::size_t bytes) override {
    if (bytes < 2 * kHugePage) return std::aligned_alloc(64, (bytes + 63) / 64 * 64);
    void* block = nullptr;
    if (posix_memalign(&block, kHugePage, bytes) != 0) return nullptr;
    // Requests huge pages: loops over large tensors cross pages all the time, which may cost half of their speed. The
    // advice may be ignored. The partial page at the end keeps its small pages, so that the process holds no more than
    // it asked for.
    static_cast<void>(::madvise(block, bytes / kHugePage * kHugePage, MADV_HUGEPAGE));
    return block;
  }
  void system_free(void* pointer) noexcept override { std::free(pointer); }

 private:
  static constexpr std::size_t kHugePage = std::size_t{2} << 20;  // bytes, on x86-64 and by default on aarch64
};

constexpr std::size_t kMaxDevices = 64;

struct Registry {
  std::mutex mutex;
  std::array<AllocatorFactory, kDeviceTypeCount> factories{};
  std::array<std::array<std::atomic<CachingAllocator*>, kMaxDevices>, kDeviceTypeCount> allocators{};

  // Never destroyed: tensors in static objects are freed late.
  static Registry& instance() {
    static Registry* registry = new Registry;
    return *registry;
  }
};

}  // namespace

std::size_t CachingAllocator::block_size(std::size_t bytes) const { return keeps_ ? round_size(bytes) : bytes; }

void* CachingAllocator::system_allocate_or_empty(std::size_t bytes) {
  if (void* pointer = system_allocate(bytes)) return pointer;
  empty_cache();
  return system_allocate(bytes);
}

void* CachingAllocator::allocate(std::size_t bytes, void* stream) {
  const std::size_t size = block_size(bytes);
  void* pointer = nullptr;
  {
    const std::lock_guard lock(mutex_);
    const auto bin = free_.find({size, stream});
    if (bin != free_.end() && !bin->second.empty()) {
      pointer = bin->second.back();
      bin->second.pop_back();
    }
  }
  const bool fresh = pointer == nullptr;
  // Sizes near the top of the range would overflow when rounded.
  if (fresh && bytes < SIZE_MAX / 2) pointer = system_allocate_or_empty(size);
  if (!pointer) {
    const SpareMemory spare;
    const MemoryStats held = stats();
    fail<OutOfMemoryError>("[allocate] ", device_, " has no ", bytes, " bytes left: ", held.allocated,
                           " bytes are held by tensors, ", held.reserved, " are taken from the system in all");
  }
  const std::int64_t small = device_.is_cpu() ? detail::small_block_bytes() : 0;
  const std::lock_guard lock(mutex_);
  if (fresh) stats_.reserved += static_cast<std::int64_t>(size);
  stats_.allocated += static_cast<std::int64_t>(size);
  stats_.peak_allocated = std::max(stats_.peak_allocated, stats_.allocated + small);
  return pointer;
}

void CachingAllocator::deallocate(void* pointer, std::size_t bytes, void* stream) noexcept {
  const std::size_t size = block_size(bytes);
  const std::lock_guard lock(mutex_);
  stats_.allocated -= static_cast<std::int64_t>(size);
  if (const auto used = uses_.find(pointer); used != uses_.end()) [[unlikely]] {
    for (void* const user : used->second) wait_for(stream, user);
    uses_.erase(used);
  }
  if (!keeps_) {
    stats_.reserved -= static_cast<std::int64_t>(size);
    synchronize();
    return system_free(pointer);
  }
  try {
    free_[{size, stream}].push_back(pointer);
  } catch (const std::bad_alloc&) {  // there is no memory to list the block, so it is returned to the system
    stats_.reserved -= static_cast<std::int64_t>(size);
    synchronize();
    system_free(pointer);
  }
}

void CachingAllocator::record_use(void* pointer, void* stream) {
  const std::lock_guard lock(mutex_);
  std::vector<void*>& users = uses_[pointer];
  if (std::ranges::find(users, stream) == users.end()) users.push_back(stream);
}

void CachingAllocator::empty_cache() noexcept {
  std::map<Bin, std::vector<void*>> blocks;
  {
    const std::lock_guard lock(mutex_);
    for (auto bin = free_.begin(); bin != free_.end();) {
      const auto next = std::next(bin);
      if (!holds_.contains(bin->first.second)) blocks.insert(free_.extract(bin));
      bin = next;
    }
    for (const auto& [bin, pointers] : blocks)
      stats_.reserved -= static_cast<std::int64_t>(bin.first * pointers.size());
  }
  if (blocks.empty()) return;
  synchronize();
  for (const auto& [bin, pointers] : blocks) {
    for (void* pointer : pointers) system_free(pointer);
  }
}

void CachingAllocator::hold(void* stream) {
  const std::lock_guard lock(mutex_);
  ++holds_[stream];
}

bool CachingAllocator::release_hold(void* stream) {
  const std::lock_guard lock(mutex_);
  const auto held = holds_.find(stream);
  if (held == holds_.end() || --held->second > 0) return false;
  holds_.erase(held);
  return true;
}

MemoryStats CachingAllocator::stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

void CachingAllocator::reset_peak() {
  const std::int64_t small = device_.is_cpu() ? detail::small_block_bytes() : 0;
  const std::lock_guard lock(mutex_);
  stats_.peak_allocated = stats_.allocated + small;
}

CachingAllocator& allocator(Device device) {
  Registry& registry = Registry::instance();
  const auto type = static_cast<std::size_t>(device.type);
  if (device.index < 0 || static_cast<std::size_t>(device.index) >= kMaxDevices) {
    fail<ValueError>("[allocate] there is no device ", device);
  }
  auto& slot = registry.allocators[type][static_cast<std::size_t>(device.index)];
  if (CachingAllocator* existing = slot.load(std::memory_order_acquire)) return *existing;
  const std::lock_guard lock(registry.mutex);
  if (CachingAllocator* existing = slot.load(std::memory_order_relaxed)) return *existing;
  CachingAllocator* made = nullptr;
  if (device.is_cpu()) {
    made = new CpuAllocator;
  } else if (const AllocatorFactory factory = registry.factories[type]) {
    made = factory(device);
  } else {
    fail<RuntimeError>("[allocate] this build of Lamella has no memory for device ", device,
                       device.type == DeviceType::CUDA ? ": it was built without CUDA" : "");
  }
  slot.store(made, std::memory_order_release);
  return *made;
}

void register_allocator(DeviceType type, AllocatorFactory factory) {
  Registry& registry = Registry::instance();
  const std::lock_guard lock(registry.mutex);
  registry.factories[static_cast<std::size_t>(type)] = factory;
}

MemoryStats memory_stats(Device device) {
  if (device.is_meta()) return {};
  MemoryStats stats = allocator(device).stats();
  if (device.is_cpu()) {
    const std::int64_t small = detail::small_block_bytes();
    stats.allocated += small;
    stats.reserved += detail::small_block_reserved();
    stats.peak_allocated = std::max(stats.peak_allocated, stats.allocated);
  }
  return stats;
}

}  // namespace lamella
