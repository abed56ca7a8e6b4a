#include "engine/autograd/fresh_stack.h"

#include <exception>
#include <thread>

#include "engine/autograd/modes.h"
#include "engine/autograd/thread_state.h"
#include "engine/core/host.h"

namespace lamella::autograd {

void run_on_fresh_stack(const std::function<void()>& f) {
  std::exception_ptr error;
  {
    // Taken back also where no thread is to be had.
    const struct HostStands {
      void* state = host_hooks().release ? host_hooks().release() : nullptr;
      ~HostStands() {
        if (state) host_hooks().restore(state);
      }
    } host_stands;
    std::thread([&, state = thread_state(), inherited = modes()] {
      try {
        thread_state() = state;
        modes() = inherited;
        f();
      } catch (...) {
        error = std::current_exception();
      }
    }).join();
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace lamella::autograd
