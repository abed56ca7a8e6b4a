#pragma once

#include "engine/core/modes.h"
#include "engine/registry/entry.h"

namespace lamella::registry {

/// The modes that look at calls of registered operators.
inline constexpr std::uint8_t kWatchingModes =
    autograd::Modes::kDuals | autograd::Modes::kSelective | autograd::Modes::kTrace;

/// Runs a device's kernel where an input wants a gradient that nobody registered, or where something looks at calls.
void call_watched(const Call& call, const Record& record, DispatchKeySet remaining);

}  // namespace lamella::registry
