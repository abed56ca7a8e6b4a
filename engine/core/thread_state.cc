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

std::uint64_t next_scope_level() {
  const Ref<LevelRun>& run = thread_state().level_run;
  return run ? run->next() : next_level();
}

std::uint64_t LevelRun::next() {
  if (repeats_) return next_ < levels_->size() ? (*levels_)[next_++] : next_level();
  levels_->push_back(next_level());
  return levels_->back();
}

}  // namespace lamella::autograd
