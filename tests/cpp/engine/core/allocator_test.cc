#include "engine/core/allocator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "engine/core/error.h"
#include "engine/core/tensor.h"

namespace lamella {
namespace {

/// Device allocator on the heap with a limit, which records its requests to the system.
class LimitedAllocator final : public CachingAllocator {
 public:
  explicit LimitedAllocator(std::size_t limit, std::int64_t most_kept = kNoLimit)
      : CachingAllocator(Device(DeviceType::PrivateUse1, 3), true, most_kept), limit_(limit) {}
  ~LimitedAllocator() override { empty_cache(); }

  std::atomic<std::size_t> taken{0};
  std::atomic<int> calls{0};
  int synchronizations = 0;

 protected:
  void* system_allocate(std::size_t bytes) override {
    ++calls;
    if (taken + bytes > limit_) return nullptr;
    auto* memory = static_cast<std::size_t*>(std::malloc(bytes + 64));
    *memory = bytes;
    taken += bytes;
    return reinterpret_cast<char*>(memory) + 64;
  }
  void system_free(void* pointer) noexcept override {
    auto* memory = reinterpret_cast<std::size_t*>(static_cast<char*>(pointer) - 64);
    taken -= *memory;
    std::free(memory);
  }
  void synchronize() noexcept override { ++synchronizations; }

 private:
  std::size_t limit_;
};

constexpr std::size_t kMegabyte = 1 << 20;

TEST(CachingAllocatorTest, ReusesFreedBlocksOfTheSameStreamOnly) {
  LimitedAllocator allocator(100 * kMegabyte);
  int streams[2];
  void* const a = allocator.allocate(kMegabyte, &streams[0]);
  allocator.deallocate(a, kMegabyte, &streams[0]);
  void* const b = allocator.allocate(kMegabyte, &streams[1]);
  EXPECT_NE(b, a);
  EXPECT_EQ(allocator.allocate(kMegabyte, &streams[0]), a);
  EXPECT_EQ(allocator.calls, 2);
  allocator.deallocate(a, kMegabyte, &streams[0]);
  allocator.deallocate(b, kMegabyte, &streams[1]);
}

TEST(CachingAllocatorTest, NearbySizesShareABlockAndWasteLittle) {
  LimitedAllocator allocator(1000 * kMegabyte);
  std::mt19937 random(5);
  for (int i = 0; i < 500; ++i) {
    const std::size_t bytes = 512 + random() % (8 * kMegabyte);
    const std::int64_t before = allocator.stats().allocated;
    void* const block = allocator.allocate(bytes);
    const auto used = static_cast<std::size_t>(allocator.stats().allocated - before);
    EXPECT_GE(used, bytes);
    EXPECT_LE(used, std::max<std::size_t>(bytes + bytes / 8 + 1, 1024)) << bytes;
    allocator.deallocate(block, bytes);
  }
  EXPECT_LT(allocator.calls, 130) << "eight sizes in each power of two";
}

TEST(CachingAllocatorTest, CountsWhatIsHeldReservedAndTheirPeak) {
  LimitedAllocator allocator(100 * kMegabyte);
  const auto mega = static_cast<std::int64_t>(kMegabyte);
  void* const a = allocator.allocate(kMegabyte);
  void* const b = allocator.allocate(2 * kMegabyte);
  EXPECT_EQ(allocator.stats().allocated, 3 * mega);
  EXPECT_EQ(allocator.stats().reserved, 3 * mega);
  allocator.deallocate(b, 2 * kMegabyte);
  EXPECT_EQ(allocator.stats().allocated, mega);
  EXPECT_EQ(allocator.stats().reserved, 3 * mega);
  EXPECT_EQ(allocator.stats().peak_allocated, 3 * mega);
  allocator.reset_peak();
  EXPECT_EQ(allocator.stats().peak_allocated, mega);
  allocator.empty_cache();
  EXPECT_EQ(allocator.stats().reserved, mega);
  EXPECT_EQ(allocator.taken, kMegabyte);
  EXPECT_EQ(allocator.synchronizations, 1);
  allocator.empty_cache();
  EXPECT_EQ(allocator.synchronizations, 1) << "nothing was cached";
  allocator.deallocate(a, kMegabyte);
}

TEST(CachingAllocatorTest, EmptiesItsCacheBeforeItGivesUp) {
  LimitedAllocator allocator(10 * kMegabyte);
  allocator.deallocate(allocator.allocate(6 * kMegabyte), 6 * kMegabyte);
  void* const block = allocator.allocate(8 * kMegabyte);
  EXPECT_NE(block, nullptr);
  EXPECT_EQ(allocator.stats().reserved, static_cast<std::int64_t>(8 * kMegabyte));
  allocator.deallocate(block, 8 * kMegabyte);
}

TEST(CachingAllocatorTest, KeepsSizesThatAreAskedForUpToALimit) {
  LimitedAllocator allocator(1000 * kMegabyte, static_cast<std::int64_t>(20 * kMegabyte));
  const auto kept = [&] { return allocator.stats().reserved - allocator.stats().allocated; };
  const auto use = [&](std::size_t megabytes) {
    void* const block = allocator.allocate(megabytes * kMegabyte);
    allocator.deallocate(block, megabytes * kMegabyte);
    EXPECT_LE(kept(), static_cast<std::int64_t>(20 * kMegabyte));
    EXPECT_EQ(static_cast<std::int64_t>(allocator.taken), allocator.stats().reserved);
    return block;
  };
  void* const usual = use(4);
  for (const std::size_t other : {5, 6}) {
    use(other);
    EXPECT_EQ(use(4), usual);
  }
  use(7);  // 22 in all: the others go
  EXPECT_EQ(kept(), static_cast<std::int64_t>(4 * kMegabyte));
  EXPECT_EQ(use(4), usual);
  use(64);
  EXPECT_EQ(kept(), static_cast<std::int64_t>(4 * kMegabyte)) << "one that is larger than the limit is not kept";
  const int calls = allocator.calls;
  EXPECT_EQ(use(4), usual);
  EXPECT_EQ(allocator.calls, calls);
  std::vector<void*> blocks;
  for (int i = 0; i < 8; ++i) blocks.push_back(allocator.allocate(4 * kMegabyte));
  for (void* const block : blocks) allocator.deallocate(block, 4 * kMegabyte);
  EXPECT_LE(kept(), static_cast<std::int64_t>(20 * kMegabyte)) << "also where all are of one size";
}

TEST(CachingAllocatorTest, OutOfMemorySaysHowMuchIsAskedForAndHeld) {
  LimitedAllocator allocator(10 * kMegabyte);
  void* const held = allocator.allocate(4 * kMegabyte);
  try {
    allocator.allocate(7 * kMegabyte);
    FAIL() << "more than there is";
  } catch (const OutOfMemoryError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("privateuse1:3"), std::string::npos) << text;
    EXPECT_NE(text.find(std::to_string(7 * kMegabyte)), std::string::npos) << text;
    EXPECT_NE(text.find(std::to_string(4 * kMegabyte) + " bytes are held"), std::string::npos) << text;
  }
  EXPECT_EQ(allocator.stats().allocated, static_cast<std::int64_t>(4 * kMegabyte));
  void* const after = allocator.allocate(5 * kMegabyte);
  EXPECT_NE(after, nullptr) << "a failure changes nothing";
  allocator.deallocate(after, 5 * kMegabyte);
  allocator.deallocate(held, 4 * kMegabyte);
}

TEST(CachingAllocatorTest, RefusesSizesThatWouldWrapAround) {
  LimitedAllocator allocator(10 * kMegabyte);
  for (const std::size_t bytes : {SIZE_MAX, SIZE_MAX - 100, SIZE_MAX / 2})
    EXPECT_THROW(allocator.allocate(bytes), OutOfMemoryError);
  EXPECT_EQ(allocator.calls, 0);
}

TEST(CachingAllocatorTest, ThreadsShareIt) {
  LimitedAllocator allocator(SIZE_MAX / 4);
  std::vector<std::thread> threads;
  std::atomic<bool> intact{true};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(static_cast<unsigned>(t));
      for (int i = 0; i < 2000; ++i) {
        const std::size_t bytes = 600 + random() % 4000;
        auto* block = static_cast<unsigned char*>(allocator.allocate(bytes));
        std::memset(block, t, bytes);
        for (std::size_t k = 0; k < bytes; k += 97) {
          if (block[k] != t) intact = false;
        }
        allocator.deallocate(block, bytes);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(intact);
  EXPECT_EQ(allocator.stats().allocated, 0);
}

TEST(AllocatorTest, EachDeviceHasOneOrSaysSo) {
  EXPECT_EQ(&allocator(kCPU), &allocator(kCPU));
  EXPECT_THROW(allocator(Device(DeviceType::PrivateUse1, 0)), RuntimeError);
  EXPECT_THROW(allocator(Device(DeviceType::PrivateUse1, 100)), ValueError);
  EXPECT_THROW(empty({3}, DType::Float32, Device(DeviceType::PrivateUse1, 0)), RuntimeError);
}

TEST(MemoryStatsTest, FollowTensorsLargeAndSmall) {
  const MemoryStats before = memory_stats(kCPU);
  {
    const Tensor large = empty({kMegabyte});
    const MemoryStats with_large = memory_stats(kCPU);
    EXPECT_GE(with_large.allocated - before.allocated, static_cast<std::int64_t>(4 * kMegabyte));
    EXPECT_GE(with_large.peak_allocated, with_large.allocated);
    EXPECT_GE(with_large.reserved, with_large.allocated);
    const Tensor small = empty({3});
    EXPECT_GT(memory_stats(kCPU).allocated, with_large.allocated);
  }
  EXPECT_EQ(memory_stats(kCPU).allocated, before.allocated);
  EXPECT_GE(memory_stats(kCPU).peak_allocated, before.allocated + static_cast<std::int64_t>(4 * kMegabyte));
  allocator(kCPU).reset_peak();
  EXPECT_EQ(memory_stats(kCPU).peak_allocated, memory_stats(kCPU).allocated);
  allocator(kCPU).empty_cache();
  EXPECT_EQ(allocator(kCPU).stats().reserved, allocator(kCPU).stats().allocated);
}

TEST(MemoryStatsTest, MetaTensorsHoldNoData) {
  const MemoryStats before = memory_stats(kMeta);
  const Tensor x = empty({1 << 20, 1 << 20}, DType::Float64, kMeta);
  EXPECT_EQ(memory_stats(kMeta).allocated, before.allocated);
  EXPECT_EQ(x.raw_data(), nullptr);
}

TEST(MemoryStatsTest, LargeTensorsAreFreedOnAnyThread) {
  const std::int64_t before = memory_stats(kCPU).allocated;
  std::vector<Tensor> tensors;
  for (int i = 0; i < 50; ++i) tensors.push_back(empty({1000 + i * 500}));
  std::thread([moved = std::move(tensors)]() mutable { moved.clear(); }).join();
  EXPECT_EQ(memory_stats(kCPU).allocated, before);
}

}  // namespace
}  // namespace lamella
