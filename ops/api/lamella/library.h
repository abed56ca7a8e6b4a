#pragma once

// Header for registered operators: LAMELLA_LIBRARY, the dispatcher, tensors, and nothing that takes long to compile.
// See docs/operators.md.

#include "engine/core/tensor.h"
#include "engine/registry/library.h"
