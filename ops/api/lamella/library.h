#pragma once

// Registered operators, and nothing that takes long to compile: LAMELLA_LIBRARY, the dispatcher, tensors. See
// docs/operators.md.

#include "engine/core/tensor.h"
#include "engine/registry/library.h"
