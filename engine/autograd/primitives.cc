#include "engine/autograd/primitives.h"

namespace lamella::autograd {

Primitives& primitives() {
  static constinit Primitives registered;
  return registered;
}

}  // namespace lamella::autograd
