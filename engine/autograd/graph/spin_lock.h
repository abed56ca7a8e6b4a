#pragma once

#include <atomic>

namespace lamella::autograd {

/// Lock of one byte, held for a handful of instructions. No code of a user's ever runs under it.
class SpinLock {
 public:
  void lock() noexcept {
    while (flag_.test_and_set(std::memory_order_acquire)) wait();
  }
  // Without notify_one(): looking for a thread that waits would cost every holder more than the lock itself.
  void unlock() noexcept { flag_.clear(std::memory_order_release); }

 private:
  void wait() const noexcept;

  std::atomic_flag flag_;
};

}  // namespace lamella::autograd
