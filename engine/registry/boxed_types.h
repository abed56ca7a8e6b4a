#pragma once

#include "engine/registry/type.h"
#include "engine/registry/value.h"

namespace lamella::registry {

/// True if a boxed argument is a value of the type.
bool is_value_of(const Type& type, const Arg& arg);
/// Returns a number converted to the kind that the type requires; other values unchanged.
Value widened(const Type& type, Value value);

}  // namespace lamella::registry
