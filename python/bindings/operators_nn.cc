#include "ops/nn/list.h"
#include "python/bindings/operator_definitions.h"

namespace lamella::python {

template std::span<const Definition> definitions_of<NnOps>();

}  // namespace lamella::python
