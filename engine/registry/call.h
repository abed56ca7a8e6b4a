#pragma once

#include "engine/registry/entry.h"

namespace lamella::registry {

/// Calls the kernel that the arguments and this thread's state ask for.
void dispatch(const Call& call);

}  // namespace lamella::registry
