#include "ops/elementwise/composed_list.h"
#include "ops/fft/list.h"
#include "ops/linalg/list.h"
#include "ops/special/list.h"
#include "python/bindings/operator_definitions.h"

namespace lamella::python {

template std::span<const Definition> definitions_of<LinalgOps>();
template std::span<const Definition> definitions_of<FftOps>();
template std::span<const Definition> definitions_of<SpecialOps>();
template std::span<const Definition> definitions_of<ComposedOps>();

}  // namespace lamella::python
