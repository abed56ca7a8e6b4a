#pragma once

#include "ops/elementwise/list.h"
#include "ops/other_ops.h"

namespace lamella {

/// Every operator: the bindings, the docs and the tests are made for each of them.
using AllOps = ConcatLists<ElementwiseOps, OtherOps>::type;

}  // namespace lamella
