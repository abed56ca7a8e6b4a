#include "engine/autograd/backward/fresh_stack.h"

#include <exception>
#include <system_error>
#include <thread>

#include "engine/core/error.h"
#include "engine/core/host.h"
#include "engine/core/memory_limit.h"
#include "engine/core/modes.h"
#include "engine/core/spare_memory.h"
#include "engine/core/thread_state.h"
#include "engine/runtime/parallel.h"

namespace lamella::autograd {

void fail_recursion(const std::string& message) {
  if (host_hooks().fail_recursion) host_hooks().fail_recursion(message);
  throw RuntimeError(message);
}

void run_on_fresh_stack(const std::function<void()>& f, const char* op) {
  if (!lamella::detail::has_room_for_threads(1)) {
    const SpareMemory spare;
    fail<OutOfMemoryError>("[", op,
                           "] calls are nested so deep that they go on on another thread, for whose stack the "
                           "system gives no memory: ",
                           describe_memory());
  }
  std::exception_ptr error;
  bool started = true;
  {
    // Restores the host's state, also where no thread could be started.
    const struct HostStands {
      void* state = host_hooks().release ? host_hooks().release() : nullptr;
      ~HostStands() {
        if (state) host_hooks().restore(state);
      }
    } host_stands;
    std::thread thread;
    try {
      thread = std::thread([&, state = thread_state(), inherited = modes()] {
        try {
          thread_state() = state;
          modes() = inherited;
          f();
        } catch (...) {
          error = std::current_exception();
        }
      });
    } catch (const std::system_error&) {
      started = false;
    }
    if (started) thread.join();
  }
  if (!started) {
    fail_recursion(str("[", op,
                       "] calls are nested so deep that they go on on another thread, and the system has none "
                       "left: is this recursion meant to end?"));
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace lamella::autograd
