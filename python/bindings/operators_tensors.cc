#include "ops/arrange/list.h"
#include "ops/creation/list.h"
#include "ops/movement/list.h"
#include "ops/random/list.h"
#include "ops/shape/list.h"
#include "python/bindings/operator_definitions.h"

namespace lamella::python {

template std::span<const Definition> definitions_of<CreationOps>();
template std::span<const Definition> definitions_of<RandomOps>();
template std::span<const Definition> definitions_of<MovementOps>();
template std::span<const Definition> definitions_of<ShapeOps>();
template std::span<const Definition> definitions_of<ArrangeOps>();

}  // namespace lamella::python
