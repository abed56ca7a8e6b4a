#include "engine/autograd/graph/primitives.h"

namespace lamella::autograd {

Primitives& primitives() {
  static constinit Primitives registered;
  return registered;
}

}  // namespace lamella::autograd
