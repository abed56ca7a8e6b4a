#include "ops/elementwise/list.h"
#include "python/bindings/operator_definitions.h"

namespace lamella::python {

template std::span<const Definition> definitions_of<ElementwiseOps>();

}  // namespace lamella::python
