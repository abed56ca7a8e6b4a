#include "engine/core/memory_limit.h"

#include <alloca.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "engine/core/allocator.h"
#include "engine/core/error.h"
#include "engine/core/spare_memory.h"

namespace lamella {
namespace {

bool is_set(decltype(RLIMIT_AS) resource) noexcept {
  struct rlimit limit{};
  return ::getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

/// True if the system does not overcommit memory; a system-wide setting, read once when the library is loaded.
bool reads_strict() {
  int mode = 0;
  std::ifstream("/proc/sys/vm/overcommit_memory") >> mode;
  return mode == 2;
}
const bool is_strict = reads_strict();

bool can_map(std::size_t bytes) noexcept {
  void* const block = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (block == MAP_FAILED) return false;
  ::munmap(block, bytes);
  return true;
}

/// Touches the page `bytes` below; not inlined, so that its frame has that size.
[[gnu::noinline]] void touch_below(std::size_t bytes) noexcept { static_cast<volatile char*>(alloca(bytes))[0] = 0; }

}  // namespace

bool memory_is_limited() noexcept { return is_strict || is_set(RLIMIT_AS) || is_set(RLIMIT_DATA); }

bool has_room(std::size_t bytes) noexcept {
  if (can_map(bytes)) return true;
  allocator(kCPU).empty_cache();
  return can_map(bytes);
}

std::string describe_memory() {
  const MemoryStats held = memory_stats(kCPU);
  return str(held.allocated, " bytes are held by tensors, ", held.reserved, " are taken from the system in all");
}

void fail_out_of_memory(std::size_t bytes, std::string_view op, std::string_view purpose) {
  const SpareMemory spare_memory;
  fail<OutOfMemoryError>("[", op, "] needs ", bytes, " bytes for ", purpose,
                         ", which the system does not give: ", describe_memory());
}

void require_room(std::size_t bytes, std::string_view op, std::string_view purpose) {
  if (memory_is_limited() && !has_room(bytes)) fail_out_of_memory(bytes, op, purpose);
}

void stretch_stack() noexcept {
  constexpr std::size_t kWanted = std::size_t{4} << 20;
  constexpr std::size_t kLeast = std::size_t{256} << 10;
  struct rlimit stack{};
  if (::getpid() != ::gettid() || ::getrlimit(RLIMIT_STACK, &stack) != 0) return;
  const std::size_t bytes =
      stack.rlim_cur == RLIM_INFINITY ? kWanted : std::min<std::size_t>(kWanted, stack.rlim_cur / 2);
  // Part of the stack may be in use: half of it exceeds the depth at which a module is imported.
  if (bytes < kLeast || (memory_is_limited() && !has_room(bytes))) return;
  touch_below(bytes - kLeast / 2);
}

}  // namespace lamella
