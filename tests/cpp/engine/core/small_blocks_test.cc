#include "engine/core/small_blocks.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

namespace lamella::detail {
namespace {

struct Block {
  unsigned char* memory;
  std::size_t bytes;
  unsigned char mark;
};

void fill(const Block& block) { std::memset(block.memory, block.mark, block.bytes); }

bool is_intact(const Block& block) {
  for (std::size_t i = 0; i < block.bytes; ++i) {
    if (block.memory[i] != block.mark) return false;
  }
  return true;
}

Block make(std::size_t bytes, unsigned char mark) {
  const Block block{static_cast<unsigned char*>(allocate_block(bytes)), bytes, mark};
  fill(block);
  return block;
}

TEST(SmallBlocksTest, BlocksAreAlignedAndDoNotOverlap) {
  std::mt19937 random(3);
  const std::int64_t before = small_block_bytes();
  std::vector<Block> blocks;
  for (int step = 0; step < 20000; ++step) {
    if (blocks.empty() || random() % 5 < 3) {
      const std::size_t bytes = 1 + random() % (kMaxSmallBlock + 500);
      blocks.push_back(make(bytes, static_cast<unsigned char>(step)));
      ASSERT_EQ(reinterpret_cast<std::uintptr_t>(blocks.back().memory) % 64, 0u);
    } else {
      std::swap(blocks[random() % blocks.size()], blocks.back());
      ASSERT_TRUE(is_intact(blocks.back()));
      free_block(blocks.back().memory, blocks.back().bytes);
      blocks.pop_back();
    }
  }
  std::int64_t held = 0;
  for (const Block& block : blocks) {
    EXPECT_TRUE(is_intact(block));
    held += static_cast<std::int64_t>(block.bytes);
  }
  const std::int64_t counted = small_block_bytes() - before;
  EXPECT_GE(counted, held);
  EXPECT_GE(small_block_reserved(), small_block_bytes());
  EXPECT_LE(counted, held + 64 * static_cast<std::int64_t>(blocks.size()));
  for (const Block& block : blocks) free_block(block.memory, block.bytes);
  EXPECT_EQ(small_block_bytes(), before);
}

TEST(SmallBlocksTest, FreedOnAnotherThreadTheyAreCountedOnce) {
  const std::int64_t before = small_block_bytes();
  std::vector<Block> blocks;
  std::thread([&] {
    for (int i = 0; i < 5000; ++i) blocks.push_back(make(100, static_cast<unsigned char>(i)));
  }).join();
  EXPECT_GE(small_block_bytes() - before, 5000 * 100) << "what an ended thread allocated still counts";
  for (const Block& block : blocks) {
    ASSERT_TRUE(is_intact(block));
    free_block(block.memory, block.bytes);
  }
  EXPECT_EQ(small_block_bytes(), before);
}

TEST(SmallBlocksTest, ProducersAndConsumersExchangeBlocks) {
  const std::int64_t before = small_block_bytes();
  std::mutex mutex;
  std::vector<Block> shared;
  std::vector<std::thread> threads;
  std::atomic<bool> intact{true};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(static_cast<unsigned>(t));
      for (int i = 0; i < 5000; ++i) {
        const Block mine = make(1 + random() % 700, static_cast<unsigned char>(random()));
        Block other{};
        {
          const std::lock_guard lock(mutex);
          shared.push_back(mine);
          if (shared.size() > 50) {
            std::swap(shared[random() % shared.size()], shared.back());
            other = shared.back();
            shared.pop_back();
          }
        }
        if (!other.memory) continue;
        if (!is_intact(other)) intact = false;
        free_block(other.memory, other.bytes);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Block& block : shared) free_block(block.memory, block.bytes);
  EXPECT_TRUE(intact);
  EXPECT_EQ(small_block_bytes(), before);
}

/// Owner in thread_local storage that frees its block when the thread's caches may be destroyed already.
struct LateOwner {
  void* block = nullptr;
  ~LateOwner() {
    if (!block) return;
    free_block(block, 200);
    free_block(allocate_block(300), 300);
  }
};
thread_local LateOwner late_owner;

TEST(SmallBlocksTest, ThreadsMayAllocateAndFreeUntilTheirEnd) {
  const std::int64_t before = small_block_bytes();
  for (int i = 0; i < 20; ++i) {
    std::thread([] {
      static_cast<void>(late_owner.block);  // made before the cache, so destroyed after it
      late_owner.block = allocate_block(200);
    }).join();
  }
  EXPECT_EQ(small_block_bytes(), before);
}

TEST(SmallBlocksTest, RecyclesWhatAThreadFreed) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "AddressSanitizer sees plain allocations, which are not recycled";
#endif
  void* const first = allocate_block(640);
  free_block(first, 640);
  void* const second = allocate_block(600);  // same size class
  EXPECT_EQ(first, second);
  free_block(second, 600);
}

}  // namespace
}  // namespace lamella::detail
