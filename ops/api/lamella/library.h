#pragma once

// A light header for registered operators: LAMELLA_LIBRARY, the dispatcher and tensors. See docs/operators.md.

#include "engine/core/tensor.h"
#include "engine/registry/library.h"
