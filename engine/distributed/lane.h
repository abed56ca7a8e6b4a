#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace lamella::distributed {

/// A thread that runs tasks one after the other, in the order in which they come. It starts with the first of them.
class Lane {
 public:
  Lane() = default;
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;
  /// Waits until the tasks that have come are done.
  ~Lane();
  /// Appends a task, which throws nothing.
  void push(std::function<void()> task);
  /// True if no task runs or waits.
  bool is_idle();

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  bool runs_ = false;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace lamella::distributed
