#pragma once

#include "engine/core/hidden_axes.h"

namespace lamella {

/// Returns the axes that a random tensor hides under vmap: those of the calls whose randomness differs between
/// examples. Throws RuntimeError that names `op` if one of the calls forbids random numbers.
HiddenAxes drawn_axes(const char* op);

}  // namespace lamella
