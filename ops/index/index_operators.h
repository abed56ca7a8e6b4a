#pragma once

#include "engine/registry/library.h"

namespace lamella {

/// Defines `index` and `set_index_`, through which graphs call `x[items]` and `x[items] = value`.
void define_index_operators(Library& library);

}  // namespace lamella
