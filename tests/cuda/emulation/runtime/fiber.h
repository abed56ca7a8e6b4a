#pragma once

#include <cstddef>
#include <functional>

namespace emulation {

/// A stack of its own on which a function runs in turns with its caller.
class Fiber {
 public:
  Fiber();
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Starts `work`, or goes on with it, until it ends or calls pause().
  void start(const std::function<void()>& work);
  void resume();
  bool ended() const { return ended_; }
  /// Returns to the caller of start() or resume().
  void pause();
  /// Gives up the work where it is, and returns to the caller; what lies on the stack is not destroyed.
  [[noreturn]] void abandon();

 private:
  static void enter();

  char* memory_;
  void* own_ = nullptr;
  void* caller_ = nullptr;
  const std::function<void()>* work_ = nullptr;
  bool ended_ = true;
};

}  // namespace emulation
