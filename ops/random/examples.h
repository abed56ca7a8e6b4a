#pragma once

#include "engine/core/hidden_axes.h"

namespace lamella {

/// The axes that a random tensor hides under vmap: those of the calls that want other numbers for each example.
/// RuntimeError naming `op` where one of the calls wants no random numbers at all.
HiddenAxes drawn_axes(const char* op);

}  // namespace lamella
