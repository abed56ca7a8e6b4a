#pragma once

#include <condition_variable>
#include <exception>
#include <mutex>

namespace lamella::distributed {

/// An operation of a process group that runs on the group's own thread.
class Work {
 public:
  /// True if it has ended, well or not.
  bool is_completed() const;
  /// Waits until it has ended, while the host's other threads run; throws the error that it ended with, and what the
  /// host throws on an interrupt (Ctrl-C), after which it still runs.
  void wait();
  /// Ends it; `error` is null if it went well.
  void finish(std::exception_ptr error);

 private:
  mutable std::mutex mutex_;
  std::condition_variable ended_;
  bool done_ = false;
  std::exception_ptr error_;
};

}  // namespace lamella::distributed
