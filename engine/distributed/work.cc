#include "engine/distributed/work.h"

#include <chrono>
#include <cstdint>
#include <limits>
#include <utility>

#include "engine/core/host.h"

namespace lamella::distributed {

bool Work::is_completed() const {
  const std::lock_guard lock(mutex_);
  return done_;
}

void Work::wait() {
  if (!is_completed()) {
    constexpr std::chrono::milliseconds kBetweenChecks{100};
    const HostRelease release(std::numeric_limits<std::int64_t>::max());
    std::unique_lock lock(mutex_);
    while (!ended_.wait_for(lock, kBetweenChecks, [&] { return done_; })) {
      if (!host_hooks().check_interrupt) continue;
      lock.unlock();
      host_hooks().check_interrupt();
      lock.lock();
    }
  }
  if (error_) std::rethrow_exception(error_);
}

void Work::finish(std::exception_ptr error) {
  {
    const std::lock_guard lock(mutex_);
    error_ = std::move(error);
    done_ = true;
  }
  ended_.notify_all();
}

}  // namespace lamella::distributed
