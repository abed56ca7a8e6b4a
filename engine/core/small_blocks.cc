#include "engine/core/small_blocks.h"

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#define LAMELLA_PLAIN_BLOCKS 1
#endif

namespace lamella::detail {
namespace {

constexpr std::size_t kGranule = 64;
constexpr std::size_t kClasses = kMaxSmallBlock / kGranule;
constexpr std::size_t kSlabBytes = 64 * 1024;
constexpr std::uint32_t kBatch = 64;

constexpr std::size_t class_of(std::size_t bytes) { return (bytes + kGranule - 1) / kGranule - 1; }
constexpr std::size_t class_bytes(std::size_t index) { return (index + 1) * kGranule; }

struct FreeBlock {
  FreeBlock* next;
};

struct FreeList {
  FreeBlock* head = nullptr;
  std::uint32_t count = 0;

  void push(void* memory) noexcept {
    auto* block = new (memory) FreeBlock{head};
    head = block;
    ++count;
  }
  void* pop() noexcept {
    FreeBlock* block = head;
    head = block->next;
    --count;
    return block;
  }
};

struct ThreadCache;

/// State shared by the threads: spare blocks, the list of live caches, and the balance of ended threads.
struct Central {
  std::mutex mutex;
  std::array<FreeList, kClasses> spare;
  std::vector<ThreadCache*> caches;
  std::int64_t retired_bytes = 0;
  std::int64_t slab_bytes = 0;

  // Never destroyed: tensors in static objects are freed after every destructor of this file has run.
  static Central& instance() {
    static Central* central = new Central;
    return *central;
  }
  void refill(std::size_t index, FreeList& list);
};

struct ThreadCache {
  std::array<FreeList, kClasses> lists;
  // Written by the owning thread only, read by small_block_bytes().
  std::atomic<std::int64_t> bytes{0};

  void add(std::int64_t delta) noexcept {
    bytes.store(bytes.load(std::memory_order_relaxed) + delta, std::memory_order_relaxed);
  }
};

void Central::refill(std::size_t index, FreeList& list) {
  const std::lock_guard lock(mutex);
  FreeList& source = spare[index];
  if (source.head) {
    for (std::uint32_t i = 0; i < kBatch && source.head; ++i) list.push(source.pop());
    return;
  }
  const std::size_t size = class_bytes(index);
  const std::size_t count = kSlabBytes / size;
  // Slabs are kept until the process ends, because their blocks are spread over the free lists of all threads.
  auto* slab = static_cast<std::byte*>(::operator new(count * size, std::align_val_t{kGranule}));
  slab_bytes += static_cast<std::int64_t>(count * size);
  for (std::size_t i = count; i-- > 0;) list.push(slab + i * size);
}

// A plain pointer with the initial-exec model costs one load; the owner object below returns the cache when its thread
// ends.
thread_local ThreadCache* current_cache = nullptr;
thread_local bool thread_is_ending = false;

struct CacheOwner {
  ThreadCache cache;
  CacheOwner() {
    Central& central = Central::instance();
    const std::lock_guard lock(central.mutex);
    central.caches.push_back(&cache);
    current_cache = &cache;
  }
  ~CacheOwner() {
    current_cache = nullptr;
    thread_is_ending = true;
    Central& central = Central::instance();
    const std::lock_guard lock(central.mutex);
    for (std::size_t i = 0; i < kClasses; ++i) {
      while (cache.lists[i].head) central.spare[i].push(cache.lists[i].pop());
    }
    central.retired_bytes += cache.bytes.load(std::memory_order_relaxed);
    std::erase(central.caches, &cache);
  }
};

/// Allocated on the heap: a library that is loaded late has only about a kilobyte for thread_local objects.
ThreadCache* make_cache() {
  thread_local const auto owner = std::make_unique<CacheOwner>();
  return &owner->cache;
}

/// Returns the calling thread's cache, or null while the thread ends and other thread_local objects still free tensors.
ThreadCache* thread_cache() {
  if (current_cache) [[likely]]
    return current_cache;
  return thread_is_ending ? nullptr : make_cache();
}

/// Returns the calling thread's cache, or null if it has none and there is no memory for one.
ThreadCache* cache_to_free_to() noexcept {
  if (current_cache) [[likely]]
    return current_cache;
  try {
    return thread_cache();
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

[[gnu::noinline]] void give_back(std::size_t index, FreeList& list) {
  Central& central = Central::instance();
  const std::lock_guard lock(central.mutex);
  for (std::uint32_t i = 0; i < kBatch; ++i) central.spare[index].push(list.pop());
}

[[gnu::noinline]] void* allocate_from_central(std::size_t index) {
  FreeList list;
  Central& central = Central::instance();
  central.refill(index, list);
  void* block = list.pop();
  const std::lock_guard lock(central.mutex);
  while (list.head) central.spare[index].push(list.pop());
  central.retired_bytes += static_cast<std::int64_t>(class_bytes(index));
  return block;
}

[[gnu::noinline]] void free_to_central(void* block, std::size_t index) noexcept {
  Central& central = Central::instance();
  const std::lock_guard lock(central.mutex);
  central.spare[index].push(block);
  central.retired_bytes -= static_cast<std::int64_t>(class_bytes(index));
}

#ifdef LAMELLA_PLAIN_BLOCKS
constexpr bool kPlainBlocks = true;  // AddressSanitizer tracks each block only if blocks are not recycled
#else
constexpr bool kPlainBlocks = false;
#endif

std::atomic<std::int64_t> plain_bytes{0};

}  // namespace

void* allocate_block(std::size_t bytes) {
  if (kPlainBlocks || bytes > kMaxSmallBlock) {
    plain_bytes.fetch_add(static_cast<std::int64_t>(bytes), std::memory_order_relaxed);
    return ::operator new(bytes, std::align_val_t{kGranule});
  }
  const std::size_t index = class_of(bytes);
  ThreadCache* cache = thread_cache();
  if (!cache) [[unlikely]]
    return allocate_from_central(index);
  FreeList& list = cache->lists[index];
  if (!list.head) [[unlikely]]
    Central::instance().refill(index, list);
  cache->add(static_cast<std::int64_t>(class_bytes(index)));
  return list.pop();
}

void free_block(void* block, std::size_t bytes) noexcept {
  if (kPlainBlocks || bytes > kMaxSmallBlock) {
    plain_bytes.fetch_sub(static_cast<std::int64_t>(bytes), std::memory_order_relaxed);
    ::operator delete(block, std::align_val_t{kGranule});
    return;
  }
  const std::size_t index = class_of(bytes);
  ThreadCache* cache = cache_to_free_to();
  if (!cache) [[unlikely]]
    return free_to_central(block, index);
  FreeList& list = cache->lists[index];
  list.push(block);
  cache->add(-static_cast<std::int64_t>(class_bytes(index)));
  // Keeps up to four slabs' worth, so that repeatedly building and freeing a large graph stays on its thread.
  if (list.count > 4 * kSlabBytes / kGranule) [[unlikely]]
    give_back(index, list);
}

std::int64_t small_block_bytes() noexcept {
  Central& central = Central::instance();
  const std::lock_guard lock(central.mutex);
  std::int64_t total = central.retired_bytes + plain_bytes.load(std::memory_order_relaxed);
  for (const ThreadCache* cache : central.caches) total += cache->bytes.load(std::memory_order_relaxed);
  return total;
}

std::int64_t small_block_reserved() noexcept {
  Central& central = Central::instance();
  const std::lock_guard lock(central.mutex);
  return central.slab_bytes + plain_bytes.load(std::memory_order_relaxed);
}

}  // namespace lamella::detail
