#pragma once

#include <functional>

namespace lamella::autograd {

/// Calls f on a new thread, which has all of its stack left, and waits for it. This thread's Modes and ThreadState are
/// in force there. What f throws comes out here. The host's other threads run meanwhile.
void run_on_fresh_stack(const std::function<void()>& f);

}  // namespace lamella::autograd
