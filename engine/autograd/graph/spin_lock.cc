#include "engine/autograd/graph/spin_lock.h"

#include <thread>

namespace lamella::autograd {

void SpinLock::wait() const noexcept {
  while (flag_.test(std::memory_order_relaxed)) std::this_thread::yield();
}

}  // namespace lamella::autograd
