#pragma once

#include <functional>
#include <string>

namespace lamella::autograd {

/// Calls f on a new thread, which has all of its stack left, and waits for it. This thread's Modes and ThreadState are
/// in force there, exceptions of f are rethrown here, and the host's other threads run meanwhile. Throws the host's
/// RecursionError, naming `op`, where the system has no thread left, and OutOfMemoryError where it has no memory for
/// its stack.
void run_on_fresh_stack(const std::function<void()>& f, const char* op);

/// Throws the host's RecursionError; RuntimeError where there is no host.
[[noreturn]] void fail_recursion(const std::string& message);

}  // namespace lamella::autograd
