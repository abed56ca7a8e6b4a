#pragma once

#include <atomic>

namespace lamella::autograd {

/// A lock held for a handful of instructions, in one byte. No code of a user's ever runs under it.
class SpinLock {
 public:
  void lock() noexcept {
    while (flag_.test_and_set(std::memory_order_acquire)) flag_.wait(true, std::memory_order_relaxed);
  }
  void unlock() noexcept {
    flag_.clear(std::memory_order_release);
    flag_.notify_one();
  }

 private:
  std::atomic_flag flag_;
};

}  // namespace lamella::autograd
