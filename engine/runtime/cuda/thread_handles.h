#pragma once

#include <algorithm>
#include <forward_list>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "engine/core/device.h"
#include "engine/runtime/cuda/device_guard.h"

namespace lamella::cuda {

/// A thread's handles of a library, one for each device, because what a handle holds serves one thread and one stream
/// at a time. They return to a pool, from which other threads take them, when the thread ends.
template <class Handle>
class ThreadHandles {
 public:
  ThreadHandles() = default;
  ThreadHandles(const ThreadHandles&) = delete;
  ThreadHandles& operator=(const ThreadHandles&) = delete;
  ~ThreadHandles() {
    Pool& pool = Pool::instance();
    const std::lock_guard lock(pool.mutex);
    for (const auto& [device, handle] : held_) pool.idle[device].push_back(handle);
  }

  /// Returns the thread's handle for a device, by make(), with that device as the current one, if there is none idle.
  template <class Make>
  Handle get(Device device, Make&& make) {
    const auto found = std::ranges::find(held_, device.index, &std::pair<int, Handle>::first);
    if (found != held_.end()) return found->second;
    Pool& pool = Pool::instance();
    {
      const std::lock_guard lock(pool.mutex);
      auto& idle = pool.idle[device.index];
      if (!idle.empty()) {
        const Handle handle = idle.back();
        idle.pop_back();
        return held_.emplace_front(device.index, handle).second;
      }
    }
    const DeviceGuard guard(device);
    return held_.emplace_front(device.index, make()).second;
  }

 private:
  /// Handles that no thread uses, by device.
  struct Pool {
    std::mutex mutex;
    std::map<int, std::vector<Handle>> idle;

    // Never destroyed: threads may end after static objects are gone.
    static Pool& instance() {
      static Pool* pool = new Pool;
      return *pool;
    }
  };

  /// By device. A list, of which a thread has one pointer only: see cmake/check_symbols.py.
  std::forward_list<std::pair<int, Handle>> held_;
};

}  // namespace lamella::cuda
