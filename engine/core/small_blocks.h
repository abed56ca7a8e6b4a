#pragma once

#include <cstddef>
#include <cstdint>

namespace lamella::detail {

/// Blocks up to this size come from per-thread free lists; larger ones go to operator new.
inline constexpr std::size_t kMaxSmallBlock = 2048;

/// Memory for tensor objects, nodes and small tensors' data, aligned to 64 bytes. Freeing on another thread is fine.
void* allocate_block(std::size_t bytes);
void free_block(void* block, std::size_t bytes) noexcept;

/// Bytes of blocks handed out and not yet freed, over all threads.
std::int64_t small_block_bytes() noexcept;
/// Bytes taken from the system for blocks: those handed out and those that wait for reuse.
std::int64_t small_block_reserved() noexcept;

}  // namespace lamella::detail
