#include "ops/elementwise/gelu.h"

#include "engine/core/error.h"

namespace lamella {

Tensor Gelu::call(const Tensor& x, std::string_view approximate) {
  if (approximate == "none") return GeluErf::call(x);
  if (approximate == "tanh") return GeluTanh::call(x);
  fail<ValueError>("[gelu] approximate must be \"none\" or \"tanh\", got \"", approximate, "\"");
}

}  // namespace lamella
