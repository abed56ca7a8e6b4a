#include "ops/random/examples.h"

#include "engine/core/error.h"
#include "engine/core/thread_state.h"

namespace lamella {

HiddenAxes drawn_axes(const char* op) {
  HiddenAxes axes;
  for (const autograd::BatchScope& scope : autograd::thread_state().batch_scopes) {
    if (scope.randomness == autograd::Randomness::Error) {
      fail<RuntimeError>("[", op,
                         "] vmap was called with randomness='error', and this draws random numbers: pass "
                         "randomness='different' for numbers of its own for each example, or 'same'");
    }
    if (scope.randomness == autograd::Randomness::Different) axes.push_back({scope.level, scope.size, 0});
  }
  return axes;
}

}  // namespace lamella
