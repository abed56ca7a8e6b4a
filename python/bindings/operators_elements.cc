#include "ops/index/list.h"
#include "ops/reduce/list.h"
#include "ops/scan/list.h"
#include "ops/sort/list.h"
#include "python/bindings/operator_definitions.h"

namespace lamella::python {

template std::span<const Definition> definitions_of<IndexOps>();
template std::span<const Definition> definitions_of<SortOps>();
template std::span<const Definition> definitions_of<ReduceOps>();
template std::span<const Definition> definitions_of<ScanOps>();

}  // namespace lamella::python
