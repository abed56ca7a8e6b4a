#include "engine/distributed/lane.h"

#include <pthread.h>

#include <csignal>
#include <utility>

namespace lamella::distributed {

Lane::~Lane() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Lane::push(std::function<void()> task) {
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    if (!thread_.joinable()) {
      // The thread inherits the mask: signals are for the host's threads, which act on them, but for those of the
      // thread's own faults, whose handlers would not be asked.
      sigset_t others;
      sigset_t before;
      sigfillset(&others);
      for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT}) sigdelset(&others, fault);
      pthread_sigmask(SIG_SETMASK, &others, &before);
      thread_ = std::thread([this] { run(); });
      pthread_sigmask(SIG_SETMASK, &before, nullptr);
    }
  }
  changed_.notify_all();
}

bool Lane::is_idle() {
  const std::lock_guard lock(mutex_);
  return !runs_ && tasks_.empty();
}

void Lane::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return ends_ || !tasks_.empty(); });
    if (tasks_.empty()) return;
    std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    runs_ = true;
    lock.unlock();
    task();
    task = nullptr;  // drops the buffers that it holds before it waits for the next task
    lock.lock();
    runs_ = false;
  }
}

}  // namespace lamella::distributed
