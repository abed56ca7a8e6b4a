#include "engine/core/thread_state.h"

#include <atomic>

namespace lamella::autograd {

ThreadState& thread_state() noexcept {
  thread_local ThreadState state;
  return state;
}

std::uint64_t next_level() noexcept {
  static std::atomic<std::uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace lamella::autograd
