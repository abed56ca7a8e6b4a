#include "ops/distributed/list.h"
#include "python/bindings/operator_definitions.h"

namespace lamella::python {

template std::span<const Definition> definitions_of<DistributedOps>();

}  // namespace lamella::python
