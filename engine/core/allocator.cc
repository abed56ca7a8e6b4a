#include "engine/core/allocator.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <new>

#include "engine/core/error.h"
#include "engine/core/machine_memory.h"
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
  // The system kills a process that takes too much, rather than refuse: what is kept for reuse is limited.
  CpuAllocator() : CachingAllocator(kCPU, true, machine_memory() / 4) {}

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
    if (bin != free_.end() && !bin->second.pointers.empty()) {
      pointer = bin->second.pointers.back();
      bin->second.pointers.pop_back();
      bin->second.is_used = true;
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
  Cache surplus;
  {
    const std::lock_guard lock(mutex_);
    keep(pointer, size, stream);
    if (stats_.reserved - stats_.allocated > most_kept_) [[unlikely]]
      surplus = take_surplus();
  }
  if (!surplus.empty()) return_to_system(surplus);
}

void CachingAllocator::keep(void* pointer, std::size_t size, void* stream) noexcept {
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
    free_[{size, stream}].pointers.push_back(pointer);
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

void CachingAllocator::take_bins(Cache& taken, bool all) noexcept {
  for (auto bin = free_.begin(); bin != free_.end();) {
    const auto next = std::next(bin);
    if ((all || !bin->second.is_used) && !holds_.contains(bin->first.second)) {
      stats_.reserved -= static_cast<std::int64_t>(bin->first.first * bin->second.pointers.size());
      taken.insert(free_.extract(bin));
    } else {
      bin->second.is_used = false;
    }
    bin = next;
  }
}

CachingAllocator::Cache CachingAllocator::take_surplus() noexcept {
  Cache taken;
  take_bins(taken, false);
  if (stats_.reserved - stats_.allocated > most_kept_) take_bins(taken, true);
  return taken;
}

void CachingAllocator::return_to_system(const Cache& taken) noexcept {
  synchronize();
  for (const auto& [bin, blocks] : taken) {
    for (void* pointer : blocks.pointers) system_free(pointer);
  }
}

void CachingAllocator::empty_cache() noexcept {
  Cache taken;
  {
    const std::lock_guard lock(mutex_);
    take_bins(taken, true);
  }
  if (!taken.empty()) return_to_system(taken);
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
