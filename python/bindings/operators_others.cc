#include "python/bindings/operator_definitions.h"

namespace lamella::python {

std::span<const Definition> definitions_of_others() {
  static constexpr auto kAll = definitions_of<OtherOps>();
  return kAll;
}

}  // namespace lamella::python
