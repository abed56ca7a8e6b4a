#include "engine/core/spare_memory.h"

#include <atomic>
#include <cstddef>
#include <cstdlib>

namespace lamella {
namespace {

/// Enough for an error's text and the objects around it, and small enough to be in the heap, where freed memory is
/// available to every allocation.
constexpr std::size_t kSpareBytes = std::size_t{96} << 10;
std::atomic<void*> spare{std::malloc(kSpareBytes)};

}  // namespace

SpareMemory::SpareMemory() noexcept { std::free(spare.exchange(nullptr)); }

SpareMemory::~SpareMemory() {
  void* const block = std::malloc(kSpareBytes);
  void* none = nullptr;
  if (block && !spare.compare_exchange_strong(none, block)) std::free(block);
}

}  // namespace lamella
