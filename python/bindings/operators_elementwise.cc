#include "python/bindings/operator_definitions.h"

namespace lamella::python {

std::span<const Definition> definitions_of_elementwise() {
  static constexpr auto kAll = definitions_of<ElementwiseOps>();
  return kAll;
}

}  // namespace lamella::python
