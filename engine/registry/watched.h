#pragma once

#include "engine/registry/entry.h"

namespace lamella::registry {

/// Runs a device's kernel where an input wants a gradient that nobody registered, or where something looks at calls.
void call_watched(const Call& call, const Record& record, DispatchKeySet remaining);

}  // namespace lamella::registry
