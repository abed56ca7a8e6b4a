#pragma once

#include <cstddef>
#include <cstdint>

namespace lamella::detail {

/// Largest block from the per-thread free lists; larger ones use operator new.
inline constexpr std::size_t kMaxSmallBlock = 2048;

/// Allocate and free memory for tensor objects, nodes and small tensors' data, aligned to 64 bytes. Another thread may
/// free a block.
void* allocate_block(std::size_t bytes);
void free_block(void* block, std::size_t bytes) noexcept;

/// Returns the number of bytes of blocks in use, over all threads.
std::int64_t small_block_bytes() noexcept;
/// Returns the number of bytes taken from the system for blocks, in use or free.
std::int64_t small_block_reserved() noexcept;

}  // namespace lamella::detail
